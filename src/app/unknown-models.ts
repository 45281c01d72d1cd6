import type { Logger } from 'pino'
import type { ApiKey } from '../contract/principal.ts'
import type { ModelDirectory } from '../http/run/deps.ts'

/** Warns of names in the keys of the configuration that no model has: they allow nothing, and may be mistyped. */
export function warnOfUnknownModels(apiKeys: readonly ApiKey[], { list }: Pick<ModelDirectory, 'list'>, log: Logger): void {
  for (const [index, { models = [] }] of apiKeys.entries()) {
    const unknown = models.filter((name) => list({ models: [name] }).length === 0)
    if (unknown.length === 0) continue
    log.warn({ setting: `server.apiKeys[${index}].models`, unknown }, 'a key may use models that are not there')
  }
}
