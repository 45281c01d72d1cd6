import type { ModelDirectory } from './deps.ts'

/** What a request means that names no model: the one called `default`, or else the first. */
export function defaultModelName(models: ModelDirectory): string {
  const all = models.list()
  const named = all.some(({ id, aliases }) => id === 'default' || aliases.includes('default'))
  return named ? 'default' : (all[0]?.id ?? 'default')
}
