import type { ModelViewer } from '../contract/principal.ts'
import type { ModelDirectory } from './deps.ts'

/** The model for requests that name none: the one called `default`, else the first, of those that the caller may use. */
export function defaultModelName(models: ModelDirectory, viewer: ModelViewer): string {
  const all = models.list(viewer)
  const named = all.some(({ id, aliases }) => id === 'default' || aliases.includes('default'))
  return named ? 'default' : (all[0]?.id ?? 'default')
}
