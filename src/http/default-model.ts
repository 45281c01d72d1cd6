import type { ModelDirectory } from './deps.ts'

/** The model for requests that name none: the one called `default`, else the first. */
export function defaultModelName(models: ModelDirectory): string {
  const all = models.list()
  const named = all.some(({ id, aliases }) => id === 'default' || aliases.includes('default'))
  return named ? 'default' : (all[0]?.id ?? 'default')
}
