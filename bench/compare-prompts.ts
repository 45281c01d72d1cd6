import { readGgufFileInfo } from 'node-llama-cpp'
import { engines, unseen } from './engines.ts'
import { better, comparedRows, type Section } from './report/section.ts'
import { inTurns, startAll } from './rounds.ts'
import { predictMs, seaText } from './sizes.ts'

type Options = { readonly modelPath: string; readonly gpu: boolean; readonly rounds: number; readonly limitMs: number }

/** The time to the first token of prompts that no cache has. */
export async function comparePrompts({ modelPath, gpu, rounds, limitMs }: Options): Promise<Section[]> {
  const trainedLength = await trainedContext(modelPath)
  const contextLength = Math.min(8192, trainedLength)
  const { running, missing } = await startAll(engines, ({ start }) => start({ modelPath, gpu, slots: 1, contextLength }))
  // Warms up, and calibrates.
  const calibrationWords = 100
  let tokensPerWord = 1
  for (const [index, engine] of running.entries()) {
    const { promptTokens } = await engine.run({ prompts: unseen(1, seaText(calibrationWords)), tokens: 1 })
    if (index === 0) tokensPerWord = promptTokens / calibrationWords
  }

  const sections: Section[] = []
  const untilMs = performance.now() + limitMs
  let last: { readonly size: number; readonly ms: number } | undefined
  for (const [size, share] of [
    [200, 0.1],
    [1300, 0.25],
    [6000, 1],
  ] as const) {
    const section = {
      title: `cold prompt of ${size} tokens, to the first token`,
      series: { title: 'cold prompts', label: `${size} tokens` },
      ratio: better,
      unit: 'ms',
      isTime: true,
    }
    const leftMs = untilMs - performance.now()
    const roundMs = last === undefined ? 0 : predictMs(last, size)
    const reason = notMeasured({ size, contextLength, roundMs, leftMs })
    if (reason !== undefined) {
      sections.push({ ...section, rows: [], missing: [{ name: 'not measured', reason }] })
      continue
    }
    const prompt = seaText(Math.round(size / tokensPerWord))
    const startedMs = performance.now()
    const result = await inTurns(running, async (engine) => (await engine.run({ prompts: unseen(1, prompt), tokens: 1 })).ms, {
      rounds,
      limitMs: leftMs * share,
    })
    const [ours = []] = result.samples.values()
    last = { size, ms: (performance.now() - startedMs) / ours.length }
    const rows = comparedRows(result.samples, { isTime: true })
    sections.push({ ...section, rows, missing: [...missing, ...result.missing] })
  }
  for (const { stop } of running) stop()
  return sections
}

type Plan = { readonly size: number; readonly contextLength: number; readonly roundMs: number; readonly leftMs: number }

/** Why a prompt is left out. */
function notMeasured({ size, contextLength, roundMs, leftMs }: Plan): string | undefined {
  if (size + 16 > contextLength) return `the model was trained for ${contextLength} tokens`
  if (roundMs > leftMs)
    return `a round would take about ${Math.round(roundMs / 1000)} s, and ${Math.max(0, Math.round(leftMs / 1000))} s are left; --minutes sets more`
  return undefined
}

/** The tokens that a GGUF file names as its training length; 8,192 if it names none. */
export async function trainedContext(modelPath: string): Promise<number> {
  const { metadata } = await readGgufFileInfo(modelPath, { logWarnings: false })
  const facts = metadata as unknown as Readonly<Record<string, { readonly context_length?: number } | undefined>>
  return facts[metadata.general.architecture]?.context_length ?? 8192
}
