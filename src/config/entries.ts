import type { ModelVersion } from '../contract/served-model.ts'
import type { ConfiguredModel } from './models.ts'
import type { Config, ModelConfig, RemoteModelConfig } from './schema.ts'
import type { ListingConfig } from './sections/listing-schema.ts'

/** The entries of `models`, separated: single models, with a model for each of their versions, and servers whose models are all served. */
export function separateEntries<Settings extends Pick<Config, 'models'>>(settings: Settings) {
  const { models, ...others } = settings
  return {
    ...others,
    models: models.filter((entry): entry is ModelConfig => !('from' in entry)).flatMap(withVersions),
    listings: models.filter((entry): entry is ListingConfig => 'from' in entry),
  }
}

export function versionsOf(config: ModelConfig): readonly ModelVersion[] | undefined {
  if (config.engine !== 'remote') return undefined
  return config.versions?.map(({ name, percent }) => ({ name, percent, id: versionId(config, name) }))
}

function withVersions(config: ModelConfig): readonly ConfiguredModel[] {
  if (config.engine !== 'remote' || config.versions === undefined) return [config]
  const { versions, fallback: _f, mirror: _m, required: _r, upstreamModel, ...shared } = config
  return [
    config,
    ...versions.map(({ name, endpoints, upstreamModel: own = upstreamModel }) => ({
      ...shared,
      id: versionId(config, name),
      aliases: [],
      endpoints,
      ...(own !== undefined && { upstreamModel: own }),
      versionOf: config.id,
    })),
  ]
}

function versionId({ id }: RemoteModelConfig, name: string): string {
  return `${id}@${name}`
}
