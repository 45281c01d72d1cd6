import { open, stat } from 'node:fs/promises'
import type { MemoryNeed } from '../../contract/engine.ts'
import { AppError } from '../../contract/errors.ts'
import { formatBytes } from '../names/format-bytes.ts'
import { partsOf } from '../names/split-model.ts'
import { estimateMemory, type MemorySettings } from './estimate-memory.ts'
import { type GgufFacts, readGgufFacts } from './gguf-facts.ts'
import { readFileHeader } from './read-file-header.ts'

export type LoadPlan = Omit<MemorySettings, 'contextLength' | 'heads' | 'rollback'> & {
  readonly modelPath: string
  /** Absent: not known yet. */
  readonly contextLength?: number
  /** The most tokens that the model drafts with layers of its own; absent: it does not. */
  readonly headTokens?: number
  /** A model, or layers, that draft tokens for this one, in a context of the same length. */
  readonly draft?: { readonly modelPath: string; readonly type?: string; readonly maxTokens?: number } | undefined
  /** Further files to load, such as a projector. */
  readonly otherPaths?: readonly string[]
  /** What prefixes may use besides the context. */
  readonly prefixBytes?: number
  /** The memory of the process without a model. */
  readonly processBytes: number
}

/** Long enough for a chat; the default where nothing else is known. */
export const usualContext = 8192

/** The most tokens of a draft of trained layers where the settings name no number. */
const usualHeadTokens = 3

/** Estimates from the headers of the files how much memory they take when loaded. A file that cannot be read counts with its size. */
export async function memoryNeed(plan: LoadPlan): Promise<MemoryNeed> {
  const { otherPaths = [], prefixBytes = 0, slots } = plan
  const processBytes = plan.processBytes + prefixBytes
  const files = await readFiles(plan)
  const models = files.map((file) => needOf(file, plan))
  const others = await Promise.all(otherPaths.map(sizeOf))
  const weights = sum([...models.map(({ weightsBytes }) => weightsBytes), ...others])
  const context = sum(models.map(({ contextBytes, pointBytes }) => contextBytes + pointBytes))
  const rest = sum(models.map(({ workBytes }) => workBytes)) + processBytes
  const bytes = weights + context + rest
  const tokens = models[0]?.contextLength
  const trained = files[0]?.facts?.trainedContext
  const bytesWith = (settings: { readonly contextLength: number; readonly slots: number }) =>
    sum(files.map((file) => bytesOf(needOf(file, { ...plan, ...settings })))) + sum(others) + processBytes
  const longestContext: MemoryNeed['longestContext'] = (budgetBytes, withSlots = slots) => {
    const fits = (contextLength: number) => bytesWith({ contextLength, slots: withSlots }) <= budgetBytes
    return trained === undefined ? undefined : longestThat(trained, fits)
  }
  return {
    bytes,
    longestContext,
    tooLarge(budgetBytes) {
      const parts = [
        `weights ${formatBytes(weights)}`,
        `context ${formatBytes(context)}${tokens === undefined ? '' : ` for slots: ${slots}, of ${tokens} tokens each`}`,
        `computing ${formatBytes(rest)}`,
      ]
      const message =
        `it needs about ${formatBytes(bytes)} of memory (${parts.join('; ')}), and memory.budget is ${formatBytes(budgetBytes)}: ` +
        `${waysOut([...new Set([slots, 1])].map((count) => ({ slots: count, tokens: longestContext(budgetBytes, count) ?? 0 })))}, ` +
        'choose a smaller quantization, or raise memory.budget'
      return new AppError('model-unavailable', message)
    },
  }
}

/** Which shorter contexts fit, by the number of slots. */
function waysOut(fitting: readonly { readonly slots: number; readonly tokens: number }[]): string {
  const known = fitting.flatMap(({ slots, tokens }) => (tokens === 0 ? [] : [`contextLength ${tokens} with slots: ${slots}`]))
  return known.length === 0 ? 'set a smaller contextLength or fewer slots' : `set ${known.join(' or ')}`
}

type FileNeed = {
  readonly weightsBytes: number
  readonly contextBytes: number
  readonly pointBytes: number
  readonly workBytes: number
  readonly contextLength?: number
}

type Computed = Pick<MemorySettings, 'heads' | 'rollback'>

/** The part of a model's file that its need depends on. */
type ModelFile = {
  readonly weightsBytes: number
  readonly facts: GgufFacts | undefined
  readonly computed: Computed
}

async function readFiles(plan: LoadPlan): Promise<ModelFile[]> {
  const { modelPath, draft } = plan
  const own = await readModel(modelPath, await computedOf(plan))
  return draft === undefined ? [own] : [own, await readModel(draft.modelPath, draft.type === 'mtp' ? { heads: 'only' } : {})]
}

/** The heads and states that a model computes for drafts. */
export async function computedOf({ headTokens, draft }: Pick<LoadPlan, 'headTokens' | 'draft'>): Promise<Computed> {
  if (headTokens !== undefined) return { heads: 'too', rollback: headTokens }
  if (draft === undefined) return {}
  const isTrained = draft.type === 'mtp' || (await readFacts(draft.modelPath))?.architecture === 'eagle3'
  return isTrained ? { rollback: draft.maxTokens ?? usualHeadTokens } : {}
}

async function readModel(path: string, computed: Computed): Promise<ModelFile> {
  return { weightsBytes: await weightsOf(path), facts: await readFacts(path), computed }
}

function needOf({ weightsBytes, facts, computed }: ModelFile, plan: LoadPlan): FileNeed {
  if (facts === undefined) return { weightsBytes, contextBytes: 0, pointBytes: 0, workBytes: 0 }
  const { contextLength = usualContext } = plan
  return { weightsBytes, contextLength, ...estimateMemory(facts, { ...plan, ...computed, contextLength }) }
}

function bytesOf({ weightsBytes, contextBytes, pointBytes, workBytes }: FileNeed): number {
  return weightsBytes + contextBytes + pointBytes + workBytes
}

/** Contexts are allocated in steps of this many tokens. */
const contextStep = 256

/** The longest context up to `most` that fits, in whole steps below it; 0: none. Longer ones need more. */
function longestThat(most: number, fits: (contextLength: number) => boolean): number {
  if (fits(most)) return most
  let [fitting, tooLong] = [0, Math.ceil(most / contextStep)]
  while (tooLong - fitting > 1) {
    const middle = Math.floor((fitting + tooLong) / 2)
    if (fits(middle * contextStep)) fitting = middle
    else tooLong = middle
  }
  return fitting * contextStep
}

/** The facts of a model's file; undefined if its header cannot be read. */
export async function readFacts(path: string): Promise<GgufFacts | undefined> {
  const handle = await open(path)
  try {
    const found = await readFileHeader(handle, readGgufFacts)
    return found.type === 'known' ? found.value : undefined
  } finally {
    await handle.close()
  }
}

/** The size of a file, or of all parts of a split one, of which the first is named. */
export async function weightsOf(path: string): Promise<number> {
  const { parts } = partsOf(path)
  // The size of a missing part is unknown.
  return sum(await Promise.all(parts.map((part) => sizeOf(part).catch(() => 0))))
}

async function sizeOf(path: string): Promise<number> {
  return (await stat(path)).size
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
