import type { EngineState, ModelKind } from '../../contract/engine.ts'
import type { ModelSummary } from '../../contract/server/catalogue.ts'
import type { Provider, Routes, StackModel, StackModelList } from './replies.ts'

/** A model as llama-stack's routes list it. */
export type StackModelEntry = Pick<ModelSummary, 'id' | 'createdAtMs' | 'contextLength' | 'kind' | 'state' | 'servers'>

/** The purpose of a model, in llama-stack's words; other purposes have no word there. */
const modelTypes: Readonly<Record<ModelKind, StackModel['model_type']>> = {
  chat: 'llm',
  embeddings: 'embedding',
  rerank: 'rerank',
  other: 'llm',
}

/** llama-stack's model object. Each model is its own provider. */
export function encodeStackModel({ id, contextLength, kind }: StackModelEntry): StackModel {
  return {
    identifier: id,
    provider_id: id,
    provider_resource_id: id,
    type: 'model',
    model_type: modelTypes[kind ?? 'chat'],
    metadata: contextLength === undefined ? {} : { context_length: contextLength },
  }
}

/** The list of models. Clients up to 0.3 read llama-stack's fields, newer ones OpenAI's; an entry has both. */
export function encodeStackModels(models: readonly StackModelEntry[]): StackModelList {
  return {
    data: models.map((entry) => {
      const model = encodeStackModel(entry)
      const { model_type, provider_id, provider_resource_id, metadata } = model
      return {
        ...model,
        id: entry.id,
        object: 'model',
        created: Math.floor(entry.createdAtMs / 1000),
        owned_by: 'dragoman',
        custom_metadata: { model_type, provider_id, provider_resource_id, ...metadata },
      }
    }),
  }
}

/** A model as a provider of inference. Its configuration is left out: it may contain secrets. */
export function encodeProvider({ id, state, servers }: StackModelEntry): Provider {
  return {
    api: 'inference',
    provider_id: id,
    provider_type: servers === undefined ? 'inline::dragoman' : `remote::${servers[0]?.found?.kind ?? 'unknown'}`,
    config: {},
    health: healthOf(state),
  }
}

/** A model that is not loaded is healthy: a request loads it. */
function healthOf(state: EngineState): { readonly status: 'OK' | 'Error'; readonly message?: string } {
  if (state.type !== 'failed') return { status: 'OK', message: state.type }
  return { status: 'Error', message: state.reason }
}

/** The routes of the server, by path, such as `/v1/models/*`. */
export function encodeRoutes(routes: readonly { readonly path: string; readonly methods: readonly string[] }[]): Routes {
  return {
    data: routes.flatMap(({ path, methods }) =>
      methods.map((method) => ({ route: path.replace('*', '{id}'), method, provider_types: ['inline::dragoman'] })),
    ),
  }
}
