import type { LlamaModelConfig, LlamaServerModelConfig } from '../../config/schema.ts'
import type { Dimension, Value } from './search.ts'

type Model = LlamaModelConfig | LlamaServerModelConfig

type Machine = {
  readonly cores: number
  /** The layers of a mixture of experts, where a GPU is here; otherwise 0. */
  readonly expertLayers: number
  /** The layers of the model that were trained to predict further tokens. */
  readonly headLayers: number
}

/** How many tokens layers that were trained for it draft; undefined: none. */
const headTokens = [undefined, 1, 2, 3, 4]

/** What may be tuned of a model here, the largest gains first. */
export function dimensionsOf(model: Model, { cores, expertLayers, headLayers }: Machine): readonly Dimension[] {
  const { threads, flashAttention, cacheTypeK, cacheTypeV, experts, draft, speculation } = model
  const counts = [...new Set([cores, cores - 1, Math.ceil(cores / 2), Math.ceil(cores / 4)])].filter((count) => count > 0)
  const layers = [0, 0.25, 0.5, 0.75, 1].map((share) => Math.round(share * expertLayers))
  const batch = model.engine === 'llama' ? model.batchSize : undefined
  const drafts = draft && [undefined, ...[2, 4, 8, 16].map((maxTokens) => ({ ...draft, maxTokens }))]
  const dimensions: readonly (Dimension | undefined)[] = [
    dimension('threads', threads, counts),
    expertLayers > 0 ? dimension('experts', experts, layers) : undefined,
    // Before flash attention: without that, values have no other type.
    {
      name: 'cache types',
      values: withPresent(cacheValue(cacheTypeK, cacheTypeV), [cacheValue('q8_0', 'q8_0'), cacheValue(undefined, undefined)]),
    },
    dimension('flashAttention', flashAttention, [true, false]),
    model.engine === 'llama' ? dimension('batchSize', batch, [128, 256, 512, 1024, 2048]) : undefined,
    headLayers > 0 && draft === undefined
      ? { name: 'speculation', values: withPresent(speculationValue(speculation), headTokens.map(headsValue)) }
      : undefined,
    drafts && { name: 'draft', values: withPresent(draftValue(draft), drafts.map(draftValue)) },
  ]
  return dimensions.flatMap((one) => (one === undefined || one.values.length < 2 ? [] : [one]))
}

function dimension(name: string, present: unknown, values: readonly unknown[]): Dimension {
  const valueFor = (value: unknown): Value => ({ label: labelOf(value), settings: { [name]: value } })
  return { name, values: withPresent(valueFor(present), values.map(valueFor)) }
}

function cacheValue(cacheTypeK: string | undefined, cacheTypeV: string | undefined): Value {
  return { label: `${labelOf(cacheTypeK)}, ${labelOf(cacheTypeV)}`, settings: { cacheTypeK, cacheTypeV } }
}

function draftValue(draft: Model['draft']): Value {
  const label = draft === undefined ? 'none' : `${draft.maxTokens ?? 'default'} tokens`
  return { label, settings: { draft } }
}

function speculationValue(speculation: Model['speculation']): Value {
  const label = speculation === undefined ? 'none' : `${speculation.type}, ${speculation.maxTokens} tokens`
  return { label, settings: { speculation } }
}

function headsValue(maxTokens: number | undefined): Value {
  return speculationValue(maxTokens === undefined ? undefined : { type: 'mtp', maxTokens, minProbability: 0 })
}

function withPresent(present: Value, others: readonly Value[]): readonly Value[] {
  return [present, ...others.filter(({ label }) => label !== present.label)]
}

function labelOf(value: unknown): string {
  return value === undefined ? 'default' : `${value}`
}
