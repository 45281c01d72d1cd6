import { resolve } from 'node:path'
import { readFacts } from '../src/registry/gguf/memory-need.ts'
import { type BenchProcess, startDragoman } from './processes.ts'
import { median, printTable } from './report/report.ts'
import { inTurns } from './rounds.ts'

/**
 * What speculative decoding gains on this machine: a model alone, with prompt lookup, with layers of its own that predict further tokens,
 * and with a draft model, or such layers of another file (EAGLE-3 too), in turns in one run: tokens per second, and the share of drafted
 * tokens that the model chose too.
 *
 *   npm run bench:speculation -- MODEL.gguf [DRAFT.gguf] [THREADS]
 */

const rounds = 3
const tokens = 48
const [model = '', draft, threads = '1'] = process.argv.slice(2)
if (model === '') throw new Error('usage: npm run bench:speculation -- MODEL.gguf [DRAFT.gguf] [THREADS]')

const base = { id: 'm', engine: 'llama', source: resolve(model), slots: 4, contextLength: 2048, threads: Number(threads) }
const settings = [
  { name: 'alone', more: {} },
  { name: 'prompt lookup', more: { speculation: { type: 'ngram' } } },
  ...((await headsOf(model)) === 'mtp' ? [{ name: 'mtp', more: { speculation: { type: 'mtp', always: true } } }] : []),
  ...(draft === undefined ? [] : [await withDraft(resolve(draft))]),
]

/** What layers of this file predict further tokens: besides those of a model, or for another one. */
async function headsOf(path: string): Promise<'mtp' | 'eagle3' | undefined> {
  const facts = await readFacts(path)
  if (facts?.architecture === 'eagle3') return 'eagle3'
  return facts !== undefined && facts.headLayers.length > 0 ? 'mtp' : undefined
}

async function withDraft(source: string) {
  const type = await headsOf(source)
  // Measured also where it is slower.
  return { name: `draft: ${type ?? 'model'}`, more: { draft: { source, ...(type !== undefined && { type, always: true }) } } }
}

const code = 'function total(items) {\n  let sum = 0\n  for (const item of items) sum += item.price * item.count\n  return sum\n}'
const tasks = [
  { name: 'a story, greedy', content: 'Tell me a story about a miller and a river.', temperature: 0 },
  { name: 'a story, temperature 1', content: 'Tell me a story about a miller and a river.', temperature: 1 },
  { name: 'an edit, greedy', content: `Repeat this code and rename sum to amount:\n\n${code}`, temperature: 0 },
]

type Counts = { readonly proposed: number; readonly accepted: number }

async function countsOf({ url }: BenchProcess): Promise<Counts> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const of = (name: string) =>
    [...text.matchAll(new RegExp(`^dragoman_${name}{[^}]*} (\\d+)`, 'gm'))].reduce((sum, [, count]) => sum + Number(count), 0)
  return { proposed: of('draft_tokens_total'), accepted: of('accepted_draft_tokens_total') }
}

/** Tokens per second of so many streams together. */
async function speedOf(
  { url }: BenchProcess,
  task: (typeof tasks)[number],
  { streams, round }: { streams: number; round: number },
) {
  const ask = async (index: number) => {
    const { content, temperature } = task
    const body = {
      model: 'm',
      messages: [{ role: 'user', content }],
      temperature,
      seed: round * 10 + index,
      max_tokens: tokens,
      ignore_eos: true,
    }
    const headers = { 'content-type': 'application/json' }
    const reply = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body: JSON.stringify(body) })
    if (!reply.ok) throw new Error(await reply.text())
    await reply.arrayBuffer()
  }
  const startedMs = performance.now()
  await Promise.all(Array.from({ length: streams }, (_, index) => ask(index)))
  return (streams * tokens * 1000) / (performance.now() - startedMs)
}

const targets: { readonly name: string; readonly server: BenchProcess }[] = []
for (const { name, more } of settings) targets.push({ name, server: await startDragoman([{ ...base, ...more }]) })
for (const task of tasks) {
  for (const streams of [1, 4]) {
    const rows: (string | number)[][] = []
    const before = await Promise.all(targets.map(({ server }) => countsOf(server)))
    for (const { server } of targets) await speedOf(server, task, { streams, round: 0 })
    const limits = { rounds, limitMs: Number.POSITIVE_INFINITY }
    const { samples } = await inTurns(targets, ({ server }, round) => speedOf(server, task, { streams, round }), limits)
    const alone = samples.get('alone') ?? []
    for (const [index, { name, server }] of targets.entries()) {
      const speeds = samples.get(name) ?? []
      const { proposed, accepted } = await countsOf(server)
      const [drafted, chosen] = [proposed - (before[index]?.proposed ?? 0), accepted - (before[index]?.accepted ?? 0)]
      const ratio = median(speeds.map((speed, round) => speed / (alone[round] ?? Number.NaN)))
      const acceptance = drafted === 0 ? '' : `${Math.round((100 * chosen) / drafted)} % of ${drafted}`
      rows.push([name, median(speeds), ratio, acceptance])
    }
    printTable([`${task.name}, ${streams} at once`, 'tokens/s', 'ratio to alone', 'accepted'], rows)
  }
}
for (const { server } of targets) server.stop()
