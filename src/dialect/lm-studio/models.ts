import type { ModelFileFacts } from '../../contract/server/model-file.ts'
import type { ModelEntry } from '../openai/models.ts'
import type { ListedModel, Model } from './replies.ts'

type Described = {
  /** In Ollama's terms. */
  readonly abilities: readonly string[]
  readonly contextLength: number | undefined
  /** Absent: the model has no file here. */
  readonly file?: ModelFileFacts | undefined
}

/** The object of `GET /api/v0/models`. Facts that are not known are empty. */
export function encodeListedModel(
  { id, ownedBy, kind, state }: ModelEntry,
  { abilities, contextLength, file }: Described,
): ListedModel {
  const isLoaded = state.type === 'ready'
  const isForText = kind === 'other' || abilities.includes('completion')
  return {
    id,
    object: 'model',
    type: isForText ? (abilities.includes('vision') ? 'vlm' : 'llm') : 'embeddings',
    publisher: ownedBy ?? '',
    arch: file?.architecture ?? '',
    ...(file !== undefined && { compatibility_type: 'gguf' }),
    quantization: file?.quantization ?? '',
    state: isLoaded ? 'loaded' : 'not-loaded',
    ...(contextLength !== undefined && { max_context_length: contextLength }),
    ...(contextLength !== undefined && isLoaded && { loaded_context_length: contextLength }),
    capabilities: abilities.includes('tools') ? ['tool_use'] : [],
  }
}

/** The object of `GET /api/v1/models`; `size`: the number of parameters, in words. */
export function encodeModel(entry: ModelEntry, described: Described & { readonly size: string }): Model {
  const { id, ownedBy, state } = entry
  const { abilities, contextLength = 0, file, size } = described
  const { quantization } = file ?? {}
  const slash = id.lastIndexOf('/')
  const type = typeOf(entry, described)
  return {
    type,
    publisher: ownedBy ?? (slash === -1 ? '' : id.slice(0, slash)),
    key: id,
    display_name: id.slice(slash + 1),
    ...(type === 'llm' && { architecture: file?.architecture ?? null }),
    quantization: quantization === undefined ? null : { name: quantization, bits_per_weight: bitsOf(quantization) },
    size_bytes: file?.sizeBytes ?? 0,
    params_string: size === '' ? null : size,
    // A model is loaded once: its instance has its id.
    loaded_instances: state.type === 'ready' ? [{ id, config: { context_length: contextLength } }] : [],
    max_context_length: Math.max(contextLength, file?.trainedContextLength ?? 0),
    format: file === undefined ? null : 'gguf',
    ...(type === 'llm' && { capabilities: encodeAbilities(abilities) }),
  }
}

export function typeOf({ kind }: Pick<ModelEntry, 'kind'>, { abilities }: Pick<Described, 'abilities'>): Model['type'] {
  return kind === 'other' || abilities.includes('completion') ? 'llm' : 'embedding'
}

function encodeAbilities(abilities: readonly string[]): NonNullable<Model['capabilities']> {
  return {
    vision: abilities.includes('vision'),
    trained_for_tool_use: abilities.includes('tools'),
    ...(abilities.includes('thinking') && { reasoning: { allowed_options: [...reasoningOptions], default: 'on' as const } }),
  }
}

export const reasoningOptions = ['off', 'on', 'low', 'medium', 'high'] as const

/** As its name says: 4 of `Q4_K_M`, 16 of `BF16`; 0 if it has no number. */
function bitsOf(quantization: string): number {
  return Number(/\d+/.exec(quantization)?.[0] ?? 0)
}
