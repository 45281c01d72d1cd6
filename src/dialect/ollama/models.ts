import { createHash } from 'node:crypto'
import type { EngineFacts } from '../../contract/engine.ts'
import type { ModelSummary } from '../../contract/server/catalogue.ts'
import type { ModelFileFacts } from '../../contract/server/model-file.ts'
import { taggedName } from './names.ts'
import type { ModelDetails, OllamaLoaded, OllamaShown, OllamaTags } from './replies.ts'

/** The version of Ollama's API that this server speaks: clients refuse older ones. */
export const apiVersion = '0.30.0'

export type OllamaModel = Pick<ModelSummary, 'id' | 'aliases' | 'createdAtMs' | 'contextLength' | 'kind'> & {
  readonly facts: Pick<EngineFacts, 'embeddingLength' | 'infills' | 'onlyEmbeds' | 'modalities' | 'chatTemplate'>
  readonly file?: ModelFileFacts
  /** The abilities of its chat template, or of the server that runs it. */
  readonly usesTools: boolean
  readonly thinks: boolean
  readonly isLoaded: boolean
  /** Absent if unknown. */
  readonly memoryBytes?: number
  /** Absent: never. */
  readonly expiresAtMs?: number
}

/** The expiry of a model that is never unloaded: clients read a time. */
const neverMs = Date.UTC(2318, 0, 1)

/** The list of `GET /api/tags`, the newest first. Aliases are models too: clients take names from here only. */
export function encodeTags(models: readonly OllamaModel[]): OllamaTags {
  const newestFirst = [...models].sort((a, b) => modifiedMs(b) - modifiedMs(a))
  return {
    models: newestFirst.flatMap((model) =>
      namesOf(model).map((name) => ({ ...describe(model, name), ...modified(model), capabilities: capabilitiesOf(model) })),
    ),
  }
}

/** The list of `GET /api/ps`: the loaded models, the one that stays longest first. */
export function encodeLoaded(models: readonly OllamaModel[]): OllamaLoaded {
  const untilMs = ({ expiresAtMs = neverMs }: OllamaModel) => expiresAtMs
  const loaded = models.filter(({ isLoaded }) => isLoaded).sort((a, b) => untilMs(b) - untilMs(a))
  return {
    models: loaded.map((model) => ({
      ...describe(model, taggedName(model.id)),
      ...(model.memoryBytes !== undefined && { size: model.memoryBytes }),
      expires_at: new Date(untilMs(model)).toISOString(),
      // Unknown here; clients read it as a number.
      size_vram: 0,
      context_length: contextOf(model) ?? 0,
    })),
  }
}

/** The reply of `POST /api/show`; `name` as the caller wrote it. */
export function encodeShow(model: OllamaModel, name: string): OllamaShown {
  const { facts, file } = model
  const architecture = file?.architecture ?? 'unknown'
  const contextLength = contextOf(model)
  const template = facts.chatTemplate ?? file?.chatTemplate ?? ''
  const known = {
    'general.architecture': architecture,
    'general.basename': name,
    'general.parameter_count': file?.parameterCount,
    [`${architecture}.context_length`]: contextLength,
    [`${architecture}.embedding_length`]: facts.embeddingLength ?? file?.embeddingLength,
    [`${architecture}.block_count`]: file?.layerCount,
  }
  return {
    license: file?.license ?? '',
    modelfile: '',
    parameters: contextLength === undefined ? '' : `num_ctx                        ${contextLength}`,
    // Continue fills gaps with models whose template has this word.
    template: canInfill(model) ? `${template}{# .Suffix #}` : template,
    details: detailsOf(model),
    model_info: Object.fromEntries(Object.entries(known).filter(([, value]) => value !== undefined)),
    capabilities: capabilitiesOf(model),
    ...modified(model),
  }
}

function namesOf({ id, aliases }: OllamaModel): readonly string[] {
  return [...new Set([id, ...aliases.filter((alias) => !alias.includes('*'))].map(taggedName))]
}

function describe(model: OllamaModel, name: string) {
  const { id, file } = model
  const digest = file?.sha256 ?? createHash('sha256').update(id).digest('hex')
  return { name, model: name, size: file?.sizeBytes ?? 0, digest, details: detailsOf(model) }
}

function modified(model: OllamaModel) {
  return { modified_at: new Date(modifiedMs(model)).toISOString() }
}

function modifiedMs({ file, createdAtMs }: OllamaModel): number {
  return file?.modifiedAtMs ?? createdAtMs
}

/** Clients read these as texts: unknown ones are empty. */
function detailsOf(model: OllamaModel): ModelDetails {
  const { file, facts } = model
  const family = file?.architecture ?? ''
  const contextLength = contextOf(model)
  const embeddingLength = facts.embeddingLength ?? file?.embeddingLength
  return {
    parent_model: '',
    format: file === undefined ? '' : 'gguf',
    family,
    families: family === '' ? null : [family],
    parameter_size: file === undefined ? '' : parameterSize(file),
    quantization_level: file?.quantization ?? '',
    ...(contextLength !== undefined && { context_length: contextLength }),
    ...(embeddingLength !== undefined && { embedding_length: embeddingLength }),
  }
}

/** Its makers' term, or a number in Ollama's form: `8.0B`, `134.52M`. */
export function parameterSize({ sizeLabel, parameterCount = 0 }: ModelFileFacts): string {
  if (sizeLabel !== undefined) return sizeLabel
  if (parameterCount >= 1e9) return `${(parameterCount / 1e9).toFixed(1)}B`
  if (parameterCount >= 1e6) return `${(parameterCount / 1e6).toFixed(2)}M`
  return parameterCount > 0 ? `${Math.round(parameterCount / 1e3)}K` : ''
}

/** The context length; for a model that is not loaded, the one that it will have. */
function contextOf({ contextLength, file }: OllamaModel): number | undefined {
  return contextLength ?? file?.contextLength
}

function canInfill({ facts, file }: OllamaModel): boolean {
  return facts.infills === true || file?.infills === true
}

/** The abilities in Ollama's terms. */
export function capabilitiesOf(model: OllamaModel): readonly string[] {
  const { kind, facts, file, usesTools, thinks } = model
  if (kind === 'embeddings' || facts.onlyEmbeds === true || file?.onlyEmbeds === true) return ['embedding']
  // Ollama has no term for models that rank, draw or speak.
  if (kind === 'rerank' || kind === 'other') return []
  return [
    'completion',
    ...(usesTools ? ['tools'] : []),
    ...(canInfill(model) ? ['insert'] : []),
    ...(facts.modalities?.image === true ? ['vision'] : []),
    ...(facts.modalities?.audio === true ? ['audio'] : []),
    ...(thinks ? ['thinking'] : []),
  ]
}
