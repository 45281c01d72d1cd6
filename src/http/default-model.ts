import type { ModelViewer } from '../contract/principal.ts'
import type { ServerDeps } from './deps.ts'

/**
 * The model for requests that name none, of those that the caller may use: the one that an operator loaded last, while it is loaded; else
 * the one called `default`, else the first.
 */
export function defaultModelName({ models, lifecycle }: Pick<ServerDeps, 'models' | 'lifecycle'>, viewer: ModelViewer): string {
  const all = models.list(viewer)
  const chosen = lifecycle?.chosen()
  if (chosen !== undefined && all.some(({ id }) => id === chosen)) return chosen
  const named = all.some(({ id, aliases }) => id === 'default' || aliases.includes('default'))
  return named ? 'default' : (all[0]?.id ?? 'default')
}

/** A body with the default model, if it names none. What is no object stays as it is: its decoder refuses it. */
export function withModel(body: unknown, deps: Pick<ServerDeps, 'models' | 'lifecycle'>, viewer: ModelViewer): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body
  const { model } = body as { readonly model?: unknown }
  return model === undefined || model === null ? { ...body, model: defaultModelName(deps, viewer) } : body
}
