import { engines, type RunningEngine, unseen } from './engines.ts'
import { better, comparedRows, ratioRows, type Section } from './report/section.ts'
import { inTurns, startAll } from './rounds.ts'
import { seaText } from './sizes.ts'

type Options = { readonly modelPath: string; readonly gpu: boolean; readonly rounds: number; readonly limitMs: number }

const person = {
  type: 'object',
  properties: { name: { type: 'string', maxLength: 20 }, age: { type: 'integer' }, city: { type: 'string', maxLength: 20 } },
  required: ['name', 'age', 'city'],
  additionalProperties: false,
}
const peopleText = 'People as JSON: '
const schema = {
  type: 'object',
  properties: { people: { type: 'array', items: person, minItems: 20 } },
  required: ['people'],
  additionalProperties: false,
}

type Running = RunningEngine & { readonly name: string }
type Load = {
  readonly streams: number
  readonly isConstrained: boolean
  /** Every second stream ends early, as requests do. */
  readonly isUneven?: true
}
type Limits = { readonly rounds: number; readonly limitMs: number; readonly gpu: boolean }

/** Each with its share of the time, by the length of a round. */
const loads: readonly (Load & { readonly share: number })[] = [
  { streams: 1, isConstrained: false, share: 1 },
  { streams: 2, isConstrained: false, share: 2 },
  { streams: 4, isConstrained: false, share: 3 },
  { streams: 8, isConstrained: false, share: 3 },
  { streams: 16, isConstrained: false, share: 5 },
  { streams: 16, isConstrained: false, isUneven: true, share: 5 },
  { streams: 1, isConstrained: true, share: 2 },
  { streams: 4, isConstrained: true, share: 6 },
]

/**
 * Tokens per second with 1 to 16 streams, the few tokens of their prompts included; also of uneven lengths, and with a JSON Schema against
 * without.
 */
export async function compareDecoding({ modelPath, gpu, rounds, limitMs }: Options): Promise<Section[]> {
  const { running, missing } = await startAll(engines, ({ start }) => start({ modelPath, gpu, slots: 16, contextLength: 512 }))
  for (const engine of running) {
    await engine.run({ prompts: unseen(16, seaText(4)), tokens: 4 })
    // The first request with a schema starts the threads that compile them.
    await engine.run({ prompts: unseen(1, peopleText), tokens: 4, schema })
  }
  const untilMs = performance.now() + limitMs
  const sections: Section[] = []
  for (const [index, { share, ...load }] of loads.entries()) {
    // What earlier loads have left is shared by the others.
    const shares = loads.slice(index).reduce((sum, one) => sum + one.share, 0)
    const limits = { gpu, rounds, limitMs: ((untilMs - performance.now()) * share) / shares }
    const section = await (load.isConstrained ? constrained : compared)(running, load, limits)
    sections.push({ ...section, missing: [...missing, ...section.missing] })
  }
  for (const { stop } of running) stop()
  return sections
}

async function compared(running: readonly Running[], load: Load, limits: Limits): Promise<Section> {
  const { samples, missing } = await inTurns(running, (engine) => tokensPerSecond(engine, load, limits), limits)
  const label = labelOf(load)
  const rows = comparedRows(samples, { isTime: false })
  const series = { title: 'decoding', label }
  return { title: `decoding, ${label}`, series, ratio: better, unit: 'tokens/s', rows, missing }
}

async function constrained(running: readonly Running[], load: Load, limits: Limits): Promise<Section> {
  const free = new Map<string, number[]>(running.map(({ name }) => [name, []]))
  const measure = async (engine: Running) => {
    free.get(engine.name)?.push(await tokensPerSecond(engine, { ...load, isConstrained: false }, limits))
    return tokensPerSecond(engine, load, limits)
  }
  const { samples, missing } = await inTurns(running, measure, limits)
  const title = `with a JSON Schema, ${labelOf(load)}`
  return { title, ratio: 'with / without', plotsRatio: true, unit: 'tokens/s', rows: ratioRows(samples, free), missing }
}

/** Both prompts are about as long. */
async function tokensPerSecond(engine: Running, { streams, isConstrained, isUneven }: Load, { gpu }: Limits): Promise<number> {
  const prompts = unseen(streams, isConstrained ? peopleText : seaText(4))
  // On a CPU, the rounds of many streams are longer.
  const wanted = gpu ? 256 : streams < 8 ? 64 : 32
  const uneven = isUneven && { tokens: 2 * wanted, everySecond: wanted / 4 }
  const { tokens, ms } = await engine.run({ prompts, tokens: wanted, ...uneven, ...(isConstrained && { schema }) })
  return (tokens / ms) * 1000
}

function labelOf({ streams, isUneven }: Load): string {
  return `${streams} ${streams === 1 ? 'stream' : isUneven ? 'uneven streams' : 'streams'}`
}
