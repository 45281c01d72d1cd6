import { loadavg } from 'node:os'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { startLlamaServer } from './llama-server.ts'
import { startDragoman } from './processes.ts'
import { median, printTable } from './report/report.ts'

/**
 * One model with many streams and long prompts: this checkout and, where they are named, another one and llama.cpp's own server, in
 * turns in one run, with one thread each or on the GPU. Checkouts must be built.
 *
 *   npm run bench:streams -- MODEL.gguf [--other CHECKOUT] [--llama-server PROGRAM] [--settings JSON] [--gpu]
 *
 * `--settings`: of the models of this checkout; the other one may be the same folder.
 */

const rounds = 5
const slots = 16
const words = 'and the old man rowed on over the calm sea, past islands without a name, '

type Target = { readonly name: string; readonly url: string; stop(): void }

const { values, positionals } = parseArgs({
  options: {
    other: { type: 'string' },
    'llama-server': { type: 'string' },
    settings: { type: 'string', default: '{}' },
    gpu: { type: 'boolean', default: false },
  },
  allowPositionals: true,
})
const { gpu, other, 'llama-server': llamaServer } = values
const [file] = positionals
if (file === undefined)
  throw new Error('usage: npm run bench:streams -- MODEL.gguf [--other CHECKOUT] [--llama-server PROGRAM] …')

/** A GPU computes much more in the same time. */
const { contextLength, tokensPerStream, longWords, untilHangUpMs } = gpu
  ? { contextLength: 8192, tokensPerStream: 256, longWords: 5200, untilHangUpMs: 100 }
  : // Some 1,300 tokens.
    { contextLength: 2048, tokensPerStream: 64, longWords: 1120, untilHangUpMs: 400 }
/** Some 200 tokens. */
const shortWords = 170

const model = { engine: 'llama', source: resolve(file), threads: 1, contextLength, gpuLayers: gpu ? 'max' : 0 }
const models = [
  { ...model, id: 'bench', slots },
  { ...model, id: 'single', slots: 1 },
]
const targets: Target[] = [
  { name: 'this', ...(await startDragoman(models.map((one) => ({ ...one, ...JSON.parse(values.settings) })))) },
  ...(other === undefined ? [] : [{ name: 'other', ...(await startDragoman(models, { checkout: resolve(other) })) }]),
  ...(llamaServer === undefined ? [] : [{ name: 'llama-server', ...(await startLlamaServer(llamaServerOptions(llamaServer))) }]),
]

function llamaServerOptions(program: string) {
  return { program, modelPath: resolve(file as string), slots, contextLength, gpu }
}

let asked = 0

type Wanted = { readonly words: number; readonly maxTokens: number; readonly model?: string; readonly signal?: AbortSignal }

/** Streams the completion of a prompt that no cache has, and returns its time in ms. `onText` is called for each piece. */
async function complete({ url }: Target, wanted: Wanted, onText: () => void = () => undefined): Promise<number> {
  const startedMs = performance.now()
  asked += 1
  const { words: count, maxTokens, model: id = 'bench', signal } = wanted
  const prompt = `${asked}: ${words
    .repeat(Math.ceil(count / 15))
    .split(' ')
    .slice(0, count)
    .join(' ')}`
  const reply = await fetch(`${url}/v1/completions`, {
    method: 'POST',
    // A kept connection may be closed at its other end while the others have their turns.
    headers: { 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({ model: id, prompt, max_tokens: maxTokens, temperature: 0, ignore_eos: true, stream: true }),
    ...(signal !== undefined && { signal }),
  })
  if (!reply.ok) throw new Error(await reply.text())
  for await (const piece of reply.body ?? []) if (Buffer.from(piece).includes('data:')) onText()
  return performance.now() - startedMs
}

async function tokensPerSecond(target: Target, streams: number): Promise<number> {
  const startedMs = performance.now()
  await Promise.all(Array.from({ length: streams }, () => complete(target, { words: 10, maxTokens: tokensPerStream })))
  return (streams * tokensPerStream * 1000) / (performance.now() - startedMs)
}

/** A long prompt behind seven streams: its time, and the longest gap in the others meanwhile. */
async function behindStreams(target: Target): Promise<{ totalMs: number; gapMs: number }> {
  const leave = new AbortController()
  let begun = 0
  let allBegun: () => void = () => undefined
  const whenBegun = new Promise<void>((done) => {
    allBegun = done
  })
  const gaps: number[] = []
  const streams = Array.from({ length: 7 }, () => {
    let lastMs: number | undefined
    return complete(target, { words: 10, maxTokens: gpu ? 2000 : 400, signal: leave.signal }, () => {
      const nowMs = performance.now()
      if (lastMs === undefined && ++begun === 7) allBegun()
      if (lastMs !== undefined && begun === 7) gaps.push(nowMs - lastMs)
      lastMs = nowMs
    }).catch(() => undefined)
  })
  await whenBegun
  gaps.length = 0
  const totalMs = await complete(target, { words: longWords, maxTokens: 1 })
  const gapMs = Math.max(...gaps)
  leave.abort()
  await Promise.all(streams)
  return { totalMs, gapMs }
}

/** From a hang-up while the only slot reads a prompt to the next reply of one token. */
async function afterHangUpMs(target: Target): Promise<number> {
  const leave = new AbortController()
  const left = complete(target, { words: longWords, maxTokens: 1, model: 'single', signal: leave.signal }).catch(() => undefined)
  await new Promise((done) => setTimeout(done, untilHangUpMs))
  leave.abort()
  await left
  return complete(target, { words: 1, maxTokens: 1, model: 'single' })
}

type Measure = { readonly labels: readonly string[]; readonly of: (target: Target) => Promise<readonly number[]> }
const measures: Measure[] = [
  ...[1, 2, 4, 8, 16].map((streams) => ({
    labels: [`${streams} at once: tokens/s`],
    of: async (target: Target) => [await tokensPerSecond(target, streams)],
  })),
  ...[shortWords, longWords].map((count) => ({
    labels: [`prompt of ${count} words: ms`],
    of: async (target: Target) => [await complete(target, { words: count, maxTokens: 1 })],
  })),
  {
    labels: ['prompt behind seven streams: ms', '... and their longest gap: ms'],
    async of(target) {
      const { totalMs, gapMs } = await behindStreams(target)
      return [totalMs, gapMs]
    },
  },
  // llama-server has the other number of slots.
  {
    labels: ['from a hang-up to the next reply: ms'],
    of: async (target) => [target.name === 'llama-server' ? Number.NaN : await afterHangUpMs(target)],
  },
]

/** The samples of one target in turn with the others', the order changing each round. */
async function inTurns({ of }: Measure): Promise<Map<string, (readonly number[])[]>> {
  const samples = new Map<string, (readonly number[])[]>(targets.map(({ name }) => [name, []]))
  // The first round warms all up.
  for (let round = -1; round < rounds; round++) {
    for (const target of round % 2 === 0 ? targets : [...targets].reverse()) {
      const sample = await of(target)
      if (round >= 0) samples.get(target.name)?.push(sample)
    }
  }
  return samples
}

/** Medians; the ratios are medians of the rounds' own. */
function toRow(label: string, samples: ReadonlyMap<string, readonly (readonly number[])[]>, index: number): (string | number)[] {
  const valuesOf = (name: string) => (samples.get(name) ?? []).map((sample) => sample[index] ?? Number.NaN)
  const ours = valuesOf('this')
  const others = targets.slice(1).map(({ name }) => valuesOf(name))
  const ratios = others.map((theirs) => median(ours.map((value, round) => value / (theirs[round] ?? Number.NaN))))
  return [label, median(ours), ...others.flatMap((theirs, at) => [median(theirs), ratios[at] ?? Number.NaN])]
}

console.log(`load average before: ${loadavg()[0]?.toFixed(1)}`)
const rows: (string | number)[][] = []
for (const measure of measures) {
  const samples = await inTurns(measure)
  for (const [index, label] of measure.labels.entries()) rows.push(toRow(label, samples, index))
}
printTable([`median of ${rounds} rounds`, 'this', ...targets.slice(1).flatMap(({ name }) => [name, 'ratio'])], rows)
console.log(`load average after: ${loadavg()[0]?.toFixed(1)}`)
for (const target of targets) target.stop()
process.exit()
