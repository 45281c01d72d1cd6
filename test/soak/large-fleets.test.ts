import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { startDnsServer } from '../support/discovery/dns-server.ts'
import { until } from '../support/http/app.ts'
import { useCommandLine } from '../support/process/command-line.ts'
import { loopbackAddresses, startLoopbackFleet } from '../support/upstream/loopback-fleet.ts'

/** Run by hand, on a machine with nothing else to do: `DRAGOMAN_FLEETS=1 npx vitest run --project soak test/soak/large-fleets`. */
const isWanted = process.env.DRAGOMAN_FLEETS !== undefined
const hint = isWanted ? '' : ' (skipped: set DRAGOMAN_FLEETS=1)'
const cli = useCommandLine()
type Server = Awaited<ReturnType<typeof cli.serve>>

async function serve(endpoints: unknown): Promise<Server> {
  const models = [{ engine: 'remote', id: 'm', endpoints, drainMs: 5000 }]
  await writeFile(cli.config, JSON.stringify({ storage: 'off', builtinModel: false, models }))
  return cli.serve()
}

async function fleetOf(size: number, delayMs = 0) {
  const fleet = await startLoopbackFleet({ delayMs })
  const addresses = loopbackAddresses(size)
  for (const address of addresses) await fleet.start(address)
  return { fleet, addresses }
}

type Message = { readonly role: string; readonly content: string }

async function chat({ url }: Server, messages: readonly Message[]): Promise<string> {
  const body = JSON.stringify({ model: 'm', messages })
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  })
  const reply = (await response.json()) as { choices?: { message: { content: string } }[] }
  if (response.status !== 200) throw new Error(`${response.status}`)
  return reply.choices?.[0]?.message.content.trim() ?? ''
}

/** The processor time of a server so far, in milliseconds. */
function cpuMsOf({ child: { pid } }: Server): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  // In ticks of 10 ms: of itself, and of the system for it.
  return (Number(fields[11]) + Number(fields[12])) * 10
}

/** Milliseconds of processor time for one request, 16 at a time. */
async function cpuPerRequest(server: Server, requests: number): Promise<number> {
  const before = cpuMsOf(server)
  let next = 0
  const client = async () => {
    while (next < requests) await chat(server, [{ role: 'user', content: `question ${next++}` }])
  }
  await Promise.all(Array.from({ length: 16 }, client))
  return (cpuMsOf(server) - before) / requests
}

test.skipIf(!isWanted)(
  `processor time with 10 and 1,000 replicas${hint}`,
  async () => {
    const found: Record<string, number> = {}
    for (const size of [10, 1000]) {
      const { fleet, addresses } = await fleetOf(size)
      const server = await serve(addresses.map((address) => ({ url: `http://${address}:${fleet.port}/v1` })))
      await until(() => fleet.all().every(({ probes }) => probes > 0), 60_000)
      await pause(20_000)
      const before = cpuMsOf(server)
      const idleMs = 60_000
      await pause(idleMs)
      found[`idle percent at ${size}`] = ((cpuMsOf(server) - before) / idleMs) * 100
      await cpuPerRequest(server, 3000)
      found[`ms per request at ${size}`] = await cpuPerRequest(server, 6000)
      found[`probes at a time at ${size}`] = fleet.mostAtATime
      server.child.kill('SIGKILL')
      await server.ended
    }
    console.log(found)
    expect(found['probes at a time at 1000']).toBeLessThanOrEqual(50)
  },
  600_000,
)

test.skipIf(!isWanted)(
  `two minutes of churn, 10 % a minute over 100 replicas${hint}`,
  async () => {
    const { fleet, addresses } = await fleetOf(120, 200)
    const zone = { a: addresses.slice(0, 100) }
    const dns = await startDnsServer({ 'vllm.test': zone })
    const server = await serve({ dns: 'vllm.test', port: fleet.port, everyMs: 1000, nameServers: [dns.address] })
    await until(() => fleet.all().filter(({ probes }) => probes > 0).length === 100, 60_000)
    const counts = { turns: 0, moved: 0, failed: 0, changes: 0 }
    const ended = new AbortController()
    const converse = async (index: number) => {
      let messages: Message[] = [{ role: 'system', content: `conversation ${index} ${'x'.repeat(400)}` }]
      for (let last: string | undefined; !ended.signal.aborted; ) {
        messages.push({ role: 'user', content: `turn ${counts.turns}` })
        const answer = await chat(server, messages).catch(() => undefined)
        counts.turns += 1
        if (answer === undefined) counts.failed += 1
        else if (last !== undefined && answer !== last) counts.moved += 1
        last = answer ?? last
        messages.push({ role: 'assistant', content: answer ?? '' })
        if (messages.length > 40) messages = messages.slice(0, 1)
        await pause(1000)
      }
    }
    const conversations = Promise.all(Array.from({ length: 300 }, (_, index) => converse(index)))
    const untilMs = performance.now() + 120_000
    for (let fresh = 100; performance.now() < untilMs; fresh++) {
      await pause(4000)
      const [old = ''] = zone.a
      zone.a = [...zone.a.slice(1), addresses[fresh] ?? '']
      counts.changes += 1
      await pause(2000)
      fleet.stop(old)
    }
    ended.abort()
    await conversations
    const fresh = addresses.slice(100, 100 + counts.changes).map((address) => fleet.replica(address)?.probes ?? 0)
    console.log({ ...counts, probesPerChange: fresh.reduce((sum, probes) => sum + probes, 0) / counts.changes })
    expect(counts.failed).toBe(0)
  },
  600_000,
)
