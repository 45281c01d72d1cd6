import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type BenchProcess, portOf, startDragoman } from './processes.ts'
import { openConnections } from './raw-load.ts'
import { median, printTable } from './report.ts'
import { scriptedChunks } from './servers/scripted.ts'

/**
 * This checkout against another one, in turns in one run: requests per second, time per streamed event (both on the `fake` engine) and
 * tokens per second (dragoman-tiny, one thread). Both must be built.
 *
 *   npm run bench:versions -- ../other-checkout
 */

const rounds = 9
const roundMs = 1500
/** V8 optimizes for seconds; servers run for days. */
const warmUpMs = 5000
const connections = 16
const eventsPerReply = 200
const tokensPerReply = 200

const [other] = process.argv.slice(2)
if (other === undefined) throw new Error('usage: npm run bench:versions -- OTHER_CHECKOUT')

const script = join(await mkdtemp(join(tmpdir(), 'dragoman-bench-')), 'script.yaml')
const replies = [
  { match: '^short$', reply: { chunks: scriptedChunks(1) } },
  { reply: { chunks: scriptedChunks(eventsPerReply) } },
]
await writeFile(script, JSON.stringify(replies))
const tiny = fileURLToPath(new URL('../models/dragoman-tiny.gguf', import.meta.url))
const models = [
  { id: 'scripted', engine: 'fake', script, slots: connections },
  { id: 'tiny', engine: 'llama', source: tiny, slots: 1, threads: 1, contextLength: 1024 },
]
const [ours, theirs] = [await startDragoman(models), await startDragoman(models, resolve(other))]

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
const long = { model: 'scripted', stream: true, messages: [{ role: 'user', content: 'long' }] }

async function requestsPerSecond(target: BenchProcess, body: object, durationMs = roundMs): Promise<number> {
  const load = await openConnections({
    port: portOf(target),
    path: '/v1/chat/completions',
    body: JSON.stringify(body),
    count: connections,
  })
  const startedMs = performance.now()
  const requests = await load.run(durationMs)
  const elapsedMs = performance.now() - startedMs
  load.close()
  return (requests / elapsedMs) * 1000
}

async function tokensPerSecond({ url }: BenchProcess, round: number): Promise<number> {
  const body = {
    model: 'tiny',
    messages: [{ role: 'user', content: `Round ${round}: tell me a long story about the sea.` }],
    stream: true,
    max_tokens: tokensPerReply,
    ignore_eos: true,
    temperature: 0,
  }
  const headers = { 'content-type': 'application/json' }
  const startedMs = performance.now()
  await (await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body: JSON.stringify(body) })).text()
  return (tokensPerReply / (performance.now() - startedMs)) * 1000
}

type Measure = (target: BenchProcess, round: number) => Promise<number>

/** Both in turns, the order changing each round; the ratio is the median of those of the rounds. */
async function compare(label: string, measure: Measure): Promise<(string | number)[]> {
  const samples: { ours: number; theirs: number }[] = []
  for (let round = 0; round < rounds; round++) {
    if (round % 2 === 0) samples.push({ ours: await measure(ours, round), theirs: await measure(theirs, round) })
    else {
      const before = await measure(theirs, round)
      samples.push({ ours: await measure(ours, round), theirs: before })
    }
  }
  const rates = (name: 'ours' | 'theirs') => median(samples.map((sample) => sample[name]))
  return [label, rates('ours'), rates('theirs'), median(samples.map((sample) => sample.ours / sample.theirs))]
}

const rows: (string | number)[][] = []
for (const [label, body] of [
  ['short reply: requests/s', short],
  ['agent body (15 tools, 41 messages): requests/s', agent],
] as const) {
  for (const target of [ours, theirs]) await requestsPerSecond(target, body, warmUpMs)
  rows.push(await compare(label, (target) => requestsPerSecond(target, body)))
}
for (const target of [ours, theirs]) await requestsPerSecond(target, long, warmUpMs)
rows.push(
  await compare(
    `stream of ${eventsPerReply} events: events/s`,
    async (target) => (await requestsPerSecond(target, long)) * eventsPerReply,
  ),
)
for (const target of [ours, theirs]) await tokensPerSecond(target, -1)
rows.push(await compare('dragoman-tiny, one stream: tokens/s', tokensPerSecond))
printTable([`median of ${rounds} rounds`, 'this checkout', 'the other', 'ratio'], rows)
ours.stop()
theirs.stop()
process.exit()
