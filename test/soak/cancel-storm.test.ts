import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { builtinModel } from '../../src/registry/builtin-model.ts'
import { until } from '../support/app.ts'
import { useCommandLine } from '../support/command-line.ts'
import { llamaServerBinary } from '../support/llama-server.ts'
import { createRandom, generatingProtocols, type PostedStream, postStream, replyIdOf, saidIn } from '../support/storm.ts'

const cli = useCommandLine()
const streams = 500
/** What the product promises, and what two clients, two servers and two engines add that share a machine. */
const freeMs = 250 + 250
const atATime = 48
/** Of 5, so many are cancelled. */
const cancelledOf5 = 4
const prompts = ['Hello', 'One two three', 'The sky is', 'Tell me a story', 'What is this?']
const settings = { source: builtinModel.path, contextLength: 1024, threads: 1, slots: 4, maxQueued: streams }
const server = { shutdownGraceMs: 0 }
const own = [
  { id: 'embedded', engine: 'llama', ...settings },
  ...(llamaServerBinary === undefined ? [] : [{ id: 'managed', engine: 'llama-server', binary: llamaServerBinary, ...settings }]),
]

type Server = Awaited<ReturnType<typeof cli.serve>>
async function serve(name: string, models: readonly object[]): Promise<Server> {
  const file = join(cli.home, `${name}.json`)
  await writeFile(file, JSON.stringify({ server, builtinModel: false, models }))
  return cli.serve(['--config', file, '--log-level', 'info'])
}

async function metrics({ url }: Server, name: string): Promise<number> {
  const lines = (await (await fetch(`${url}/metrics`)).text()).split('\n')
  const values = lines.filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`))
  return values.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0)
}
const stopsOf = ({ err }: Server) =>
  err()
    .split('\n')
    .filter((line) => line.includes('"request stopped"'))
    .map((line) => JSON.parse(line) as { model: string; cancelId?: string; endedMs: number; lateTokens: number })

const post = (url: string, body: object) =>
  fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })

const routes = ['hang-up', 'cancel_id', 'session_id', 'reply id', 'header', 'background', 'command'] as const
type Route = (typeof routes)[number]

/** The request of one stream: its protocol, its prompt, its model, and how it is cancelled. */
function planOf(index: number, random: () => number, targets: readonly { server: Server; model: string }[]) {
  const isCancelled = index % 5 < cancelledOf5
  // Starting a process takes long: few are cancelled by one.
  const byCommand = index % 60 === 0
  const route: Route = byCommand ? 'command' : (routes[Math.floor(random() * 6)] ?? 'hang-up')
  const protocol = generatingProtocols[isCancelled && route === 'background' ? 2 : Math.floor(random() * 5)]
  const target = targets[Math.floor(random() * targets.length)]
  const prompt = prompts[Math.floor(random() * prompts.length)] ?? ''
  if (protocol === undefined || target === undefined) throw new Error('no target')
  return { index, isCancelled, route, protocol, prompt, ...target, afterMs: byCommand ? 0 : random() * 600 }
}
type Plan = ReturnType<typeof planOf>

const bodyOf = ({ protocol, prompt, model }: Pick<Plan, 'protocol' | 'prompt' | 'model'>) => ({
  ...protocol.body(prompt),
  ...(protocol.idName === undefined ? { model_id: model } : { model, temperature: 0 }),
  // A reply that is stored ends when it is.
  ...(protocol.idName === 'response_id' && { store: false }),
  stream: true,
})

/** A cancelled one would go on for long. */
function longBodyOf(plan: Plan): object {
  const limit = { max_tokens: 900, max_output_tokens: 900 }
  const body: Record<string, unknown> = bodyOf(plan)
  for (const [name, value] of Object.entries(limit)) if (name in body) body[name] = value
  const { idName } = plan.protocol
  if (idName === undefined) body.sampling_params = { strategy: { type: 'greedy' }, max_tokens: 900 }
  return idName === 'completion_id' ? { ...body, ignore_eos: true } : body
}

async function cancelBy({ route, server: { url }, protocol, index }: Plan, stream: PostedStream): Promise<void> {
  const cancel = (keys: object) => post(`${url}/api/inference/cancel`, keys)
  const isOver = stream.ended.then(() => true)
  const replyId = async () => {
    while (replyIdOf(stream.text()) === undefined && !(await Promise.race([isOver, pause(5, false)])));
    return replyIdOf(stream.text())
  }
  switch (route) {
    case 'hang-up':
      return stream.hangUp()
    case 'cancel_id':
    case 'header':
      return void (await cancel({ cancel_id: `run-${index}` }))
    case 'session_id':
      return void (await cancel({ session_id: `session-${index}` }))
    case 'reply id':
      if (protocol.idName === undefined) return void (await cancel({ cancel_id: `run-${index}` }))
      return void (await cancel({ [protocol.idName]: await replyId() }))
    case 'background':
      return void (await post(`${url}/v1/responses/${await replyId()}/cancel`, {}))
    case 'command':
      await cli.run(['cancel', '--cancel-id', `run-${index}`], { DRAGOMAN_SERVER: url })
  }
}

async function run(plan: Plan): Promise<PostedStream> {
  const { isCancelled, route, server: at, protocol, index, afterMs } = plan
  const url = `${at.url}${protocol.path}`
  if (!isCancelled) {
    const stream = postStream(url, bodyOf(plan))
    await stream.ended
    return stream
  }
  const name = `run-${index}`
  const keys = route === 'header' ? {} : { cancel_id: name, session_id: `session-${index}` }
  const background = route === 'background' ? { background: true, store: true } : {}
  const headers = route === 'header' ? { 'x-dragoman-cancel-id': name } : undefined
  const stream = postStream(url, { ...longBodyOf(plan), ...keys, ...background }, headers)
  await pause(afterMs)
  await cancelBy(plan, stream)
  await stream.ended
  return stream
}

test('of 500 streams on real engines, 400 are cancelled by all routes; nearly all end at once, the others complete', async () => {
  const first = await serve('engines', own)
  const endpoints = [{ url: `${first.url}/v1` }]
  const second = await serve('remote', [
    { id: 'embedded', aliases: ['remote'], slots: 4, maxQueued: streams, engine: 'remote', endpoints },
  ])
  const servers = [first, second]
  const targets = [...own.map(({ id }) => ({ server: first, model: id })), { server: second, model: 'remote' }]

  const alone = new Map<string, string>()
  const keyOf = ({ model, protocol, prompt }: Pick<Plan, 'model' | 'protocol' | 'prompt'>) =>
    `${model} ${protocol.path} ${prompt}`
  for (const { server: at, model } of targets) {
    const hello = { model, prompt: 'Hello', max_tokens: 1 }
    await until(async () => (await post(`${at.url}/v1/completions`, hello)).status === 200, 30_000)
    for (const protocol of generatingProtocols) {
      for (const prompt of prompts) {
        const stream = postStream(`${at.url}${protocol.path}`, bodyOf({ protocol, prompt, model }))
        await stream.ended
        expect([model, stream.status(), stream.text()]).toEqual([model, 200, expect.stringMatching(protocol.end)])
        alone.set(keyOf({ model, protocol, prompt }), saidIn(stream.text()))
      }
    }
  }
  const memory = () => Promise.all(servers.map((at) => metrics(at, 'process_resident_memory_bytes')))
  const before = await memory()

  const random = createRandom(42)
  const plans = Array.from({ length: streams }, (_, index) => planOf(index, random, targets))
  const waiting = [...plans]
  const different: object[] = []
  const worker = async () => {
    for (let plan = waiting.shift(); plan !== undefined; plan = waiting.shift()) {
      const stream = await run(plan)
      const text = stream.text()
      if (plan.isCancelled && plan.route === 'hang-up') continue
      expect([plan, stream.status(), text]).toEqual([plan, 200, expect.stringMatching(plan.protocol.end)])
      expect(text).not.toMatch(/"error":\{|"type":"error"/)
      const wanted = alone.get(keyOf(plan))
      if (!plan.isCancelled && saidIn(text) !== wanted) different.push({ key: keyOf(plan), said: saidIn(text), wanted })
    }
  }
  await Promise.all(Array.from({ length: atATime }, worker))

  const total = async (name: string) => (await Promise.all(servers.map((at) => metrics(at, name)))).reduce((a, b) => a + b, 0)
  for (const name of ['dragoman_slots_busy', 'dragoman_queue_depth']) await until(async () => (await total(name)) === 0)
  // The request for the metrics is one.
  await until(async () => (await total('dragoman_requests_in_flight')) <= servers.length)
  const stops = servers.flatMap(stopsOf)
  const after = await memory()
  const late = stops.filter(({ lateTokens }) => lateTokens > 0)
  console.info({
    stops: stops.length,
    longestEndMs: own.map(({ id }) => Math.max(...stops.filter(({ model }) => model === id).map(({ endedMs }) => endedMs))),
    late: late.map(({ model, lateTokens }) => `${model} ${lateTokens}`).join(', '),
    megabytes: [before, after].map((sizes) => sizes.map((size) => Math.round(size / 2 ** 20))),
    different,
  })
  expect(different).toEqual([])
  expect(stops.length).toBeGreaterThan(300)
  const ofEmbedded = stopsOf(first).filter(({ model }) => model === 'embedded')
  const stored = new Set(plans.filter(({ route }) => route === 'background').map(({ index }) => `run-${index}`))
  const slow = ofEmbedded.filter(({ endedMs, cancelId = '' }) => endedMs > freeMs && !stored.has(cancelId))
  // The machine runs all of this at once: some wait for the processor, and none for long.
  expect(slow.length).toBeLessThan(ofEmbedded.length / 10)
  expect(ofEmbedded.filter(({ lateTokens }) => lateTokens > 1)).toEqual([])
  for (const [index, size] of after.entries()) expect(size).toBeLessThan((before[index] ?? 0) + 100 * 2 ** 20)
}, 120_000)
