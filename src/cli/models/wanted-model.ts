import type { LoadedConfig } from '../../config/load.ts'
import type { ModelConfig } from '../../config/schema.ts'
import { findCatalogued } from '../../registry/names/catalogue.ts'
import { isSource } from '../../registry/names/sources.ts'
import { resolveName } from '../servers/resolve-name.ts'

/** Loads the configuration, with additional model sources. */
export type LoadModels = (sources: readonly string[]) => Promise<LoadedConfig>

type WantedModel = {
  readonly model: ModelConfig
  readonly config: LoadedConfig
  /** The name is a source, or the short name of one, rather than a configured model. */
  readonly isFromSource: boolean
}

/** The model of a name: a source, a configured model, or one of the catalogue. Throws `model-not-found`. */
export async function findWanted(name: string, loadConfig: LoadModels): Promise<WantedModel> {
  if (!isSource(name)) {
    const config = await loadConfig([])
    const isConfigured = config.models.some(({ id, aliases }) => id === name || aliases.includes(name))
    if (isConfigured || findCatalogued(name) === undefined) {
      return { model: resolveName(config.models, name), config, isFromSource: false }
    }
  }
  const config = await loadConfig([name])
  return { model: config.models[0] as ModelConfig, config, isFromSource: true }
}
