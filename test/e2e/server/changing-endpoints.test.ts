import { execFileSync } from 'node:child_process'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { startDnsServer } from '../../support/discovery/dns-server.ts'
import { sliceOf, startKubernetesApi } from '../../support/discovery/kubernetes-api.ts'
import { until } from '../../support/http/app.ts'
import { useCommandLine } from '../../support/process/command-line.ts'
import { loopbackAddresses, startLoopbackFleet } from '../../support/upstream/loopback-fleet.ts'

function hasOpenssl(): boolean {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

const cli = useCommandLine()
type Server = Awaited<ReturnType<typeof cli.serve>>

async function configure(endpoints: unknown, more: object = {}): Promise<void> {
  const model = { engine: 'remote', id: 'm', endpoints, ...more }
  await writeFile(`${cli.config}.new`, JSON.stringify({ storage: 'off', builtinModel: false, models: [model] }))
  await rename(`${cli.config}.new`, cli.config)
}

type Message = { readonly role: string; readonly content: string }

async function chat({ url }: Server, messages: readonly Message[]): Promise<string> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', messages }),
  })
  const body = (await response.json()) as { choices: { message: { content: string } }[]; error?: { message: string } }
  if (response.status !== 200) throw new Error(`${response.status}: ${body.error?.message}`)
  return body.choices[0]?.message.content.trim() ?? ''
}

/**
 * Conversations that continue, each with one request at a time, until `stop`: how many turns there were, moved and failed. All begin
 * before one of them goes on.
 */
function converse(server: Server, conversations: number) {
  const counts = { turns: 0, moved: 0, failures: [] as string[] }
  let begun = 0
  const ended = new AbortController()
  const one = async (index: number) => {
    let messages: Message[] = [{ role: 'system', content: `conversation ${index} ${'x'.repeat(400)}` }]
    let last: string | undefined
    for (let turn = 0; !ended.signal.aborted; turn++) {
      messages = [...messages, { role: 'user', content: `turn ${turn}` }]
      try {
        const answer = await chat(server, messages)
        counts.turns += 1
        if (last !== undefined && answer !== last) counts.moved += 1
        last = answer
        messages = [...messages, { role: 'assistant', content: answer }]
      } catch (error) {
        counts.failures.push(String(error))
      }
      if (messages.length > 20) messages = messages.slice(0, 1)
      if (turn === 0) begun += 1
      await until(() => begun === conversations)
      await pause(100)
    }
  }
  const done = Promise.all(Array.from({ length: conversations }, (_, index) => one(index)))
  return {
    counts,
    stop: async () => {
      ended.abort()
      await done
      return counts
    },
  }
}

/** The number of servers that have been probed. */
async function serversOf({ url }: Server): Promise<number> {
  const { servers } = (await (await fetch(`${url}/v1/models/m`)).json()) as { servers: { version?: string }[] }
  return servers.filter(({ version }) => version !== undefined).length
}

test('a hundred replicas behind a name, one after the other replaced: nothing fails, conversations stay', async () => {
  const addresses = loopbackAddresses(140)
  const fleet = await startLoopbackFleet({ delayMs: 30 })
  for (const address of addresses.slice(0, 100)) await fleet.start(address)
  const zone = { a: addresses.slice(0, 100) }
  const dns = await startDnsServer({ 'vllm.test': zone })
  await configure({ dns: 'vllm.test', port: fleet.port, everyMs: 150, nameServers: [dns.address] }, { drainMs: 2000 })
  const server = await cli.serve()
  await until(() => fleet.all().every(({ probes }) => probes > 0))
  const conversations = converse(server, 40)
  const changes = 20
  for (let change = 0; change < changes; change++) {
    const fresh = addresses[100 + change] ?? ''
    const old = zone.a[0] ?? ''
    await fleet.start(fresh)
    zone.a = [...zone.a.slice(1), fresh]
    await until(() => (fleet.replica(fresh)?.probes ?? 0) > 0)
    // It leaves the name before it ends, as pods do.
    await pause(150)
    fleet.stop(old)
  }
  const { turns, moved, failures } = await conversations.stop()
  expect(failures).toEqual([])
  expect(turns).toBeGreaterThan(100)
  expect(moved / turns).toBeLessThan(0.1)
  const probes = addresses.slice(100, 100 + changes).map((address) => fleet.replica(address)?.probes ?? 0)
  expect(probes.reduce((sum, count) => sum + count, 0) / changes).toBeLessThanOrEqual(3)
  expect(fleet.mostAtATime).toBeLessThanOrEqual(50)
}, 60_000)

test('scaled from zero to one while twenty requests wait, which then have their answers', async () => {
  const [address = ''] = loopbackAddresses(1)
  const fleet = await startLoopbackFleet()
  await fleet.start(address)
  const api = await startKubernetesApi()
  const slice = (ready: boolean) => sliceOf('vllm-1', [{ ip: address, ready }], { port: fleet.port })
  api.put(slice(false))
  await configure({ kubernetes: { service: 'vllm', namespace: 'llm', port: 'http', api: api.origin } })
  const server = await cli.serve()
  await until(async () => (await fetch(`${server.url}/ready`)).status === 200)
  const answers = Promise.all(Array.from({ length: 20 }, (_, index) => chat(server, [{ role: 'user', content: `hi ${index}` }])))
  await until(async () => {
    const metrics = await (await fetch(`${server.url}/metrics`)).text()
    return /dragoman_queue_depth\{[^}]*model="m"[^}]*\} 20\b/.test(metrics)
  })
  expect(fleet.all()).toMatchObject([{ requests: 0 }])
  api.put(slice(true))
  expect(await answers).toEqual(Array.from({ length: 20 }, () => address))
  expect((await fetch(`${server.url}/ready`)).status).toBe(200)
}, 60_000)

test.skipIf(!hasOpenssl())(
  `a server behind a name is reached by HTTPS, if its certificate has that name${hasOpenssl() ? '' : ' (skipped: there is no openssl)'}`,
  async () => {
    const [key, cert] = [join(cli.home, 'key.pem'), join(cli.home, 'cert.pem')]
    const subject = ['-subj', '/CN=vllm', '-addext', 'subjectAltName=DNS:vllm.test', '-days', '2']
    const files = ['-keyout', key, '-out', cert]
    execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...files, ...subject], { stdio: 'ignore' })
    const [address = ''] = loopbackAddresses(1)
    const fleet = await startLoopbackFleet({ tls: { key: await readFile(key), cert: await readFile(cert) } })
    await fleet.start(address)
    const dns = await startDnsServer({ 'vllm.test': { a: [address] } })
    const endpoints = { dns: 'vllm.test', port: fleet.port, https: true, everyMs: 100, nameServers: [dns.address] }
    await configure(endpoints)
    const server = await cli.serve([], { NODE_EXTRA_CA_CERTS: cert })
    expect(await chat(server, [{ role: 'user', content: 'hi' }])).toBe(address)
    await configure({ ...endpoints, serverName: 'other.test' })
    const ask = () => chat(server, [{ role: 'user', content: 'hi' }]).catch(String)
    await until(async () => /503.*altnames: Host: other\.test/.test(await ask()))
  },
  60_000,
)

test('another list in the configuration keeps conversations and connections, and probes only what is new', async () => {
  const addresses = loopbackAddresses(6)
  const fleet = await startLoopbackFleet()
  for (const address of addresses) await fleet.start(address)
  const list = (...some: readonly string[]) => some.map((address) => ({ url: `http://${address}:${fleet.port}/v1` }))
  await configure(list(...addresses.slice(0, 5)))
  const startedMs = performance.now()
  const server = await cli.serve()
  await until(async () => (await serversOf(server)) === 5)
  const before = fleet.all().map(({ probes }) => probes)
  // Two on each server: what was expected of a first answer that is late does not move the other one.
  const release = fleet.hold()
  const conversations = converse(server, 10)
  await until(() => fleet.all().reduce((sum, { requests }) => sum + requests, 0) === 10)
  release()
  await until(() => conversations.counts.turns > 30)
  await configure(list(...addresses))
  await until(async () => (await serversOf(server)) === 6)
  const { turns } = conversations.counts
  await until(() => conversations.counts.turns > turns + 40)
  const { moved, failures } = await conversations.stop()
  expect([failures, moved]).toEqual([[], 0])
  const probes = fleet.all().map((replica, index) => replica.probes - (before[index] ?? 0))
  // Besides, each is asked once a minute who it is, in two requests.
  const asked = 2 * Math.floor((performance.now() - startedMs) / 10_000)
  expect(probes.at(-1)).toBeGreaterThanOrEqual(1)
  expect(probes.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(1 + asked)
}, 60_000)

test('a list in a file of its own, which is broken for a while', async () => {
  const addresses = loopbackAddresses(2)
  const fleet = await startLoopbackFleet()
  for (const address of addresses) await fleet.start(address)
  const file = join(dirname(cli.config), 'targets.json')
  const targets = (some: readonly string[]) =>
    writeFile(file, JSON.stringify([{ targets: some.map((address) => `${address}:${fleet.port}`), labels: { zone: 'a' } }]))
  await targets(addresses.slice(0, 1))
  await configure({ file: 'targets.json', everyMs: 100 })
  const server = await cli.serve()
  expect(await chat(server, [{ role: 'user', content: 'hi' }])).toBe(addresses[0])
  await writeFile(file, '[{"targets":')
  await pause(300)
  expect(await chat(server, [{ role: 'user', content: 'hi' }])).toBe(addresses[0])
  await targets(addresses.slice(1))
  await until(async () => (await chat(server, [{ role: 'user', content: 'hi' }])) === addresses[1])
}, 60_000)
