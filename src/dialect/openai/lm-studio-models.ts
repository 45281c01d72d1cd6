import type { ModelFileFacts } from '../../contract/server/model-file.ts'
import type { ModelEntry } from './models.ts'
import type { LmStudioModel } from './replies.ts'

type Described = {
  /** In Ollama's terms. */
  readonly abilities: readonly string[]
  readonly contextLength: number | undefined
  /** Absent: the model has no file here. */
  readonly file?: ModelFileFacts | undefined
}

/** LM Studio's object of `GET /api/v0/models`. Facts that are not known are empty. */
export function encodeLmStudioModel(
  { id, ownedBy, kind, state }: ModelEntry,
  { abilities, contextLength, file }: Described,
): LmStudioModel {
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
