import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { readFacts } from '../src/registry/gguf/memory-need.ts'
import { encodeSmallModel } from '../test/support/llama/random-architectures.ts'
import { type BenchProcess, startDragoman } from './processes.ts'
import { cpuMs } from './processor-time.ts'
import { median, printTable } from './report/report.ts'
import { inTurns } from './rounds.ts'

/**
 * What speculative decoding gains on this machine: a model alone, with prompt lookup, with layers of its own that predict further tokens,
 * and with a draft model, or such layers of another file (EAGLE-3 too), in turns in one run: tokens per second, processor time, and the share
 * of drafted tokens that the model chose too. Each is measured as it is, turned off where it costs time, and always on. Without a model, two
 * random ones show the worst of drafts: none of the draft model is right.
 *
 *   npm run bench:speculation -- [MODEL.gguf [DRAFT.gguf] [THREADS]] [ROUNDS=3] [TOKENS=48]
 */

const plain = process.argv.slice(2).filter((word) => !word.includes('='))
const numbers = new Map(process.argv.slice(2).map((word) => word.split('=') as [string, string]))
const rounds = Number(numbers.get('ROUNDS') ?? 3)
const tokens = Number(numbers.get('TOKENS') ?? 48)
const [model, draft, threads = '1'] = plain.length > 0 ? plain : await writeRandom()
if (model === undefined) throw new Error('no model')

const base = { id: 'm', engine: 'llama', source: resolve(model), slots: 4, contextLength: 2048, threads: Number(threads) }
const settings = [
  { name: 'alone', more: {} },
  ...both('prompt lookup', (always) => ({ speculation: { type: 'ngram', ...always } })),
  ...((await headsOf(model)) === 'mtp' ? both('mtp', (always) => ({ speculation: { type: 'mtp', ...always } })) : []),
  ...(draft === undefined ? [] : await withDraft(resolve(draft))),
]

/** As it is, and without measurements of whether it is faster; of random models only as it is. */
function both(name: string, more: (always: { readonly always?: true }) => object) {
  const always = { name: `${name}, always`, more: more({ always: true }) }
  return [{ name, more: more({}) }, ...(plain.length > 0 ? [always] : [])]
}

async function writeRandom(): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-bench-'))
  const [modelPath, draftPath] = [join(folder, 'model.gguf'), join(folder, 'draft.gguf')]
  await writeFile(modelPath, encodeSmallModel('llama', { width: 512 }))
  await writeFile(draftPath, encodeSmallModel('qwen3moe', { width: 256 }))
  return [modelPath, draftPath]
}

/** What layers of this file predict further tokens: besides those of a model, or for another one. */
async function headsOf(path: string): Promise<'mtp' | 'eagle3' | undefined> {
  const facts = await readFacts(path)
  if (facts?.architecture === 'eagle3') return 'eagle3'
  return facts !== undefined && facts.headLayers.length > 0 ? 'mtp' : undefined
}

async function withDraft(source: string) {
  const type = await headsOf(source)
  const kind = type === undefined ? { minProbability: plain.length > 0 ? 0.6 : 0 } : { type }
  return both(`draft: ${type ?? 'model'}`, (always) => ({ draft: { source, ...kind, ...always } }))
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

/** Milliseconds of a token, for a number of streams together: on the clock, and of processors. */
async function costOf(
  { url, pid }: BenchProcess,
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
    return ((await reply.json()) as { choices: { message: { content: string } }[] }).choices[0]?.message.content
  }
  const [startedMs, before] = [performance.now(), cpuMs(pid)]
  const texts = await Promise.all(Array.from({ length: streams }, (_, index) => ask(index)))
  const all = streams * tokens
  return { ms: (performance.now() - startedMs) / all, cpu: (cpuMs(pid) - before) / all, texts }
}

const targets: { readonly name: string; readonly server: BenchProcess }[] = []
for (const { name, more } of settings) targets.push({ name, server: await startDragoman([{ ...base, ...more }]) })
for (const task of tasks) {
  for (const streams of [1, 4]) {
    const rows: (string | number)[][] = []
    const before = await Promise.all(targets.map(({ server }) => countsOf(server)))
    for (const { server } of targets) await costOf(server, task, { streams, round: 0 })
    const measured = new Map(targets.map(({ name }) => [name, [] as Awaited<ReturnType<typeof costOf>>[]]))
    const measure = async ({ name, server }: (typeof targets)[number], round: number) => {
      const cost = await costOf(server, task, { streams, round })
      measured.get(name)?.push(cost)
      return cost.ms
    }
    await inTurns(targets, measure, { rounds, limitMs: Number.POSITIVE_INFINITY })
    const alone = measured.get('alone') ?? []
    for (const [index, { name, server }] of targets.entries()) {
      const costs = measured.get(name) ?? []
      const { proposed, accepted } = await countsOf(server)
      const [drafted, chosen] = [proposed - (before[index]?.proposed ?? 0), accepted - (before[index]?.accepted ?? 0)]
      const ratio = (of: 'ms' | 'cpu') => median(costs.map((cost, round) => (alone[round]?.[of] ?? Number.NaN) / cost[of]))
      const acceptance = drafted === 0 ? '' : `${Math.round((100 * chosen) / drafted)} % of ${drafted}`
      const same = costs.flatMap(({ texts }, round) => texts.map((text, at) => text === alone[round]?.texts[at]))
      const texts = `${same.filter(Boolean).length} of ${same.length}`
      rows.push([name, 1000 / median(costs.map(({ ms }) => ms)), ratio('ms'), ratio('cpu'), acceptance, texts])
    }
    const heads = [`${task.name}, ${streams} at once`, 'tokens/s', 'ratio to alone', 'by processor time', 'accepted', 'same text']
    printTable(heads, rows)
  }
}
for (const { server } of targets) server.stop()
