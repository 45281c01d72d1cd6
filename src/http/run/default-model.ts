import { isObject } from '../../base/json.ts'
import type { ModelViewer } from '../../contract/principal.ts'
import type { Catalogue } from '../../contract/server/catalogue.ts'
import type { Models } from './deps.ts'

type Deps = Pick<Models, 'lifecycle'> & {
  readonly models: Pick<Catalogue, 'list'>
  /** The request is for embeddings: prefer a model that was loaded to embed. */
  readonly embeds?: boolean
  /** The request is for a ranking: prefer a model that is known to rank. */
  readonly ranks?: boolean
}

/**
 * The model for requests without one, among those that the caller may use: the one that an operator loaded last, while it is loaded;
 * otherwise the one called `default`, or the first.
 */
export function defaultModelName({ models, lifecycle, embeds = false, ranks = false }: Deps, viewer: ModelViewer): string {
  const listed = models.list(viewer)
  const rankers = ranks ? listed.filter(({ kind }) => kind === 'rerank') : []
  const all = rankers.length > 0 ? rankers : listed
  const chosen = lifecycle?.chosen({ embeds })
  if (chosen !== undefined && all.some(({ id }) => id === chosen)) return chosen
  const named = all.some(({ id, aliases }) => id === 'default' || aliases.includes('default'))
  return named ? 'default' : (all[0]?.id ?? 'default')
}

/**
 * A body with the default model, if its field for the model names none. Other values than objects stay as they are: their decoder refuses
 * them.
 */
export function withModel(body: unknown, deps: Deps, viewer: ModelViewer, field = 'model'): unknown {
  if (!isObject(body)) return body
  // Old clients of llama-stack write `model`.
  const model: unknown = Reflect.get(body, field) ?? Reflect.get(body, 'model')
  return model === undefined || model === null || model === '' ? { ...body, [field]: defaultModelName(deps, viewer) } : body
}
