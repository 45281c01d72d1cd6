import { given } from '../../base/json.ts'
import type { EngineState, ServerReport } from '../../contract/engine.ts'
import type { ModelSummary } from '../../contract/server/catalogue.ts'
import type { ModelFileFacts } from '../../contract/server/model-file.ts'
import type { Model, ModelDetail, ModelList } from './replies.ts'

export type ModelEntry = Pick<
  ModelSummary,
  | 'id'
  | 'aliases'
  | 'createdAtMs'
  | 'contextLength'
  | 'ownedBy'
  | 'kind'
  | 'servers'
  | 'versions'
  | 'modalities'
  | 'mediaProblem'
  | 'runsOn'
  | 'services'
> & {
  readonly state: Pick<EngineState, 'type'>
  /** Absent: the model has no file here. */
  readonly file?: Partial<ModelFileFacts> | undefined
  /** Added by a load: a request can remove it. */
  readonly isAdded?: boolean
}

/**
 * OpenAI's model object; `context_length`, `kind`, `state`, `aliases`, `media_problem`, `runs_on` and `services` are ours, `architecture` is OpenRouter's, and
 * the rest is Unsloth Studio's, and from `tags` on llama-server's.
 */
export function encodeModel(entry: ModelEntry): Model {
  const {
    id,
    aliases,
    createdAtMs,
    contextLength,
    ownedBy,
    kind,
    modalities,
    mediaProblem,
    runsOn,
    services,
    state,
    file = {},
    isAdded,
  } = entry
  const { quantization, contextLength: longest, trainedContextLength } = file
  return {
    id,
    object: 'model',
    created: Math.floor(createdAtMs / 1000),
    owned_by: ownedBy ?? 'dragoman',
    ...given({ context_length: contextLength, kind, max_context_length: longest }),
    ...given({ native_context_length: trainedContextLength, quant: quantization }),
    ...(modalities !== undefined && { architecture: { input_modalities: inputsOf(modalities), output_modalities: ['text'] } }),
    ...given({ media_problem: mediaProblem, runs_on: runsOn }),
    ...(services !== undefined && { services: [...services] }),
    state: state.type,
    loaded: state.type === 'ready',
    aliases,
    tags: [],
    status: routerStatus(state),
    ...(state.type === 'ready' && { meta: routerMeta(contextLength, file) }),
    ...(isAdded !== undefined && { source: isAdded ? 'cache' : 'preset', can_remove: isAdded }),
  }
}

function inputsOf({ image, audio, video = false }: NonNullable<ModelEntry['modalities']>): string[] {
  return ['text', ...(image ? ['image'] : []), ...(audio ? ['audio'] : []), ...(video ? ['video'] : [])]
}

/** OpenAI's list of models, which has no pages. */
export function encodeModelList(models: readonly ModelEntry[]): ModelList {
  return { object: 'list', data: models.map(encodeModel) }
}

/** One model, with its replicas and its other versions if it has any. */
export function encodeModelDetail(entry: ModelEntry): ModelDetail {
  const { servers, versions } = entry
  return {
    ...encodeModel(entry),
    ...(servers !== undefined && { servers: servers.map(encodeServer) }),
    ...(versions !== undefined && { versions: versions.map(({ name, percent, id }) => ({ name, percent, model: id })) }),
  }
}

function encodeServer({ host, state, lastFailure, activeRequests, outstandingTokens, found }: ServerReport) {
  return {
    host,
    state: state === 'half-open' ? 'half_open' : state,
    ...(lastFailure !== undefined && { last_failure: lastFailure }),
    active_requests: activeRequests,
    outstanding_tokens: outstandingTokens,
    ...(found !== undefined && {
      kind: found.kind,
      ...given({ protocol: found.protocol, version: found.version }),
      model: found.model,
      ...(found.contextLength !== undefined && { context_length: found.contextLength }),
      abilities: found.abilities,
      ...(found.passes !== undefined && { passes: found.passes }),
    }),
  }
}

/** llama-server's words for the state of a model. Its clients read the status of each row; a row without one breaks its page. */
export type RouterStatus = {
  readonly value: 'unloaded' | 'loading' | 'loaded' | 'downloading'
  /** The arguments of a process, which no caller may see. */
  readonly args: readonly string[]
  readonly failed?: true
  readonly exit_code?: number
}

export function routerStatus({ type }: Pick<EngineState, 'type'>): RouterStatus {
  switch (type) {
    case 'ready':
      return { value: 'loaded', args: [] }
    case 'starting':
    case 'loading':
      return { value: 'loading', args: [] }
    case 'failed':
      return { value: 'unloaded', args: [], failed: true, exit_code: 1 }
    case 'stopped':
    case 'draining':
      return { value: 'unloaded', args: [] }
  }
}

type Facts = Partial<
  Pick<ModelFileFacts, 'trainedContextLength' | 'embeddingLength' | 'parameterCount' | 'sizeBytes' | 'quantization'>
>

/** llama-server's facts about a loaded model, as far as known. */
export function routerMeta(contextLength: number | undefined, file: Facts | undefined) {
  const { trainedContextLength, embeddingLength, parameterCount, sizeBytes, quantization } = file ?? {}
  return {
    ...given({ n_ctx: contextLength, n_ctx_train: trainedContextLength, n_embd: embeddingLength, n_params: parameterCount }),
    ...given({ size: sizeBytes, ftype: quantization }),
  }
}
