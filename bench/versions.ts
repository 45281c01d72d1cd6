import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type BenchProcess, portOf, startDragoman, startServer } from './processes.ts'
import { openConnections } from './raw-load.ts'
import { median, printTable } from './report/report.ts'
import { scriptedChunks } from './servers/scripted.ts'

/**
 * This checkout against another one, in turns in one run: rates and server CPU of requests and streamed events on the `fake` engine, and
 * of requests that go on to a server; tokens per second, free and under a JSON Schema (one thread; dragoman-tiny, or another GGUF file).
 * Both must be built. On a shared machine the CPU rows vary less than the rates.
 *
 *   npm run bench:versions -- ../other-checkout [model.gguf]
 */

const rounds = 9
const roundMs = 1500
/** V8 optimizes for seconds; servers run for days. */
const warmUpMs = 5000
const connections = 16
const eventsPerReply = 200
const tokensPerReply = 200

const [other, file = fileURLToPath(new URL('../models/dragoman-tiny.gguf', import.meta.url))] = process.argv.slice(2)
if (other === undefined) throw new Error('usage: npm run bench:versions -- OTHER_CHECKOUT [MODEL.gguf]')

const script = join(await mkdtemp(join(tmpdir(), 'dragoman-bench-')), 'script.yaml')
const replies = [
  { match: '^short$', reply: { chunks: scriptedChunks(1) } },
  { reply: { chunks: scriptedChunks(eventsPerReply) } },
]
await writeFile(script, JSON.stringify(replies))
const upstream = await startServer('upstream.ts', ['1'])
const models = [
  { id: 'behind', engine: 'remote', endpoints: [{ url: `${upstream.url}/v1` }], slots: connections },
  { id: 'scripted', engine: 'fake', script, slots: connections },
  { id: 'model', engine: 'llama', source: resolve(file), slots: 4, threads: 1, contextLength: 1024 },
]
const [ours, theirs] = [await startDragoman(models), await startDragoman(models, { checkout: resolve(other) })]

/** An agent's turn: a system prompt, tools, and a conversation. */
const agent = {
  model: 'scripted',
  temperature: 0.2,
  tools: Array.from({ length: 15 }, (_, index) => ({
    type: 'function',
    function: {
      name: `tool_${index}`,
      description: 'Reads or writes something, and says what it did.',
      parameters: { type: 'object', properties: { path: { type: 'string' }, count: { type: 'integer' } }, required: ['path'] },
    },
  })),
  messages: [
    ...Array.from({ length: 40 }, (_, index) => ({
      role: index % 2 === 0 ? 'user' : 'assistant',
      content: 'Some words. '.repeat(20),
    })),
    { role: 'user', content: 'short' },
  ],
}
const short = { model: 'scripted', messages: [{ role: 'user', content: 'short' }] }
const behind = { model: 'behind', messages: [{ role: 'user', content: 'hello' }] }
const long = { model: 'scripted', stream: true, messages: [{ role: 'user', content: 'long' }] }

type Sample = { readonly perSecond: number; readonly cpuUs: number }

async function load(target: BenchProcess, body: object, durationMs = roundMs): Promise<Sample> {
  const json = JSON.stringify(body)
  const clients = await openConnections({ port: portOf(target), path: '/v1/chat/completions', body: json, count: connections })
  const cpuBefore = (await target.usage()).cpuMicros
  const startedMs = performance.now()
  const requests = await clients.run(durationMs)
  const elapsedMs = performance.now() - startedMs
  const cpuAfter = (await target.usage()).cpuMicros
  clients.close()
  return { perSecond: (requests / elapsedMs) * 1000, cpuUs: (cpuAfter - cpuBefore) / requests }
}

const text = { type: 'string', minLength: 20, maxLength: 60 }
const person = {
  type: 'object',
  properties: { name: text, age: { type: 'integer' }, notes: { type: 'array', items: text, minItems: 6, maxItems: 6 } },
  required: ['name', 'age', 'notes'],
  additionalProperties: false,
}
const constrained = { response_format: { type: 'json_schema', json_schema: { name: 'person', schema: person, strict: true } } }

/** The tokens that all streams together get in a second. */
async function tokensPerSecond({ url }: BenchProcess, { round, streams, fields }: TokenLoad): Promise<number> {
  const startedMs = performance.now()
  const counts = await Promise.all(
    Array.from({ length: streams }, async (_, stream) => {
      const body = {
        model: 'model',
        messages: [{ role: 'user', content: `Round ${round}, ${stream}: tell me about a person of the sea, at length.` }],
        max_tokens: tokensPerReply,
        temperature: 0.7,
        seed: round,
        ...fields,
      }
      const headers = { 'content-type': 'application/json' }
      const reply = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body: JSON.stringify(body) })
      const { usage } = (await reply.json()) as { readonly usage: { readonly completion_tokens: number } }
      return usage.completion_tokens
    }),
  )
  return (counts.reduce((sum, count) => sum + count, 0) / (performance.now() - startedMs)) * 1000
}

type TokenLoad = { readonly round: number; readonly streams: number; readonly fields: object }

/** Both in turns, the order changing each round. */
async function inTurns<T>(measure: (target: BenchProcess, round: number) => Promise<T>): Promise<[ours: T, theirs: T][]> {
  const pairs: [T, T][] = []
  for (let round = 0; round < rounds; round++) {
    if (round % 2 === 0) pairs.push([await measure(ours, round), await measure(theirs, round)])
    else {
      const before = await measure(theirs, round)
      pairs.push([await measure(ours, round), before])
    }
  }
  return pairs
}

/** The ratio is the median of those of the rounds. */
function toRow(label: string, pairs: readonly (readonly [number, number])[]): (string | number)[] {
  return [
    label,
    median(pairs.map(([one]) => one)),
    median(pairs.map(([, two]) => two)),
    median(pairs.map(([one, two]) => one / two)),
  ]
}

const rows: (string | number)[][] = []
for (const [label, body, count] of [
  ['short reply', short, 1],
  ['short reply of a server behind', behind, 1],
  ['streamed reply of a server behind', { ...behind, stream: true }, 1],
  ['agent body (15 tools, 41 messages)', agent, 1],
  [`stream of ${eventsPerReply} events, per event`, long, eventsPerReply],
] as const) {
  for (const target of [ours, theirs]) await load(target, body, warmUpMs)
  const pairs = await inTurns((target) => load(target, body))
  rows.push(
    toRow(
      `${label}: rate/s`,
      pairs.map(([one, two]) => [one.perSecond * count, two.perSecond * count]),
    ),
  )
  rows.push(
    toRow(
      `${label}: server CPU us`,
      pairs.map(([one, two]) => [one.cpuUs / count, two.cpuUs / count]),
    ),
  )
}
for (const [label, fields] of [
  ['free', { ignore_eos: true }],
  ['JSON Schema', constrained],
] as const) {
  for (const streams of [1, 4]) {
    for (const target of [ours, theirs]) await tokensPerSecond(target, { round: -1, streams, fields })
    const pairs = await inTurns((target, round) => tokensPerSecond(target, { round, streams, fields }))
    rows.push(toRow(`${label}, ${streams} at once: tokens/s`, pairs))
  }
}
printTable([`median of ${rounds} rounds`, 'this checkout', 'the other', 'ratio'], rows)
ours.stop()
theirs.stop()
upstream.stop()
process.exit()
