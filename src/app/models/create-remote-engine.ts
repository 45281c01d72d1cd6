import type { Logger } from 'pino'
import { given } from '../../base/json.ts'
import type { LoadedConfig } from '../../config/load.ts'
import type { RemoteModelConfig } from '../../config/schema.ts'
import { formatSettingsOf } from '../../config/sections/format-schema.ts'
import { limitsOf } from '../../config/sections/limits-schema.ts'
import type { FleetObserver } from '../../contract/attempts.ts'
import type { Engine } from '../../contract/engine.ts'
import type { MediaConverter } from '../../contract/media.ts'
import { type EndpointSource, ReplaceableSource } from '../../engine/remote/endpoints/source.ts'
import { createRemoteEngine } from '../../engine/remote/engine.ts'
import type { Drains } from '../sharing/drains.ts'
import type { SharedChecks } from '../sharing/shared-checks.ts'
import type { SharedEjections } from '../sharing/shared-ejections.ts'
import { createEndpointSource } from './create-endpoint-source.ts'
import type { FindTemplate } from './create-llama-engine.ts'
import { readModelTemplate } from './templates/read-model-template.ts'

type Surroundings = {
  readonly log: Logger
  /** For models without limits of their own. */
  readonly limits?: LoadedConfig['limits']
  readonly converter?: MediaConverter
  readonly env?: NodeJS.ProcessEnv
  /** Names sessions to routers. */
  hash?(text: string): string
  /** Hears what becomes of attempts, and of servers that fail. */
  readonly observer?: FleetObserver
  readonly drains?: Drains
  readonly checks?: SharedChecks
  readonly ejections?: SharedEjections
  /** Finds the template that it has by its name; absent: it has none. */
  readonly findTemplate?: FindTemplate
}

type RemoteModel = {
  readonly engine: Engine
  /** Takes the endpoints of another configuration; the function that it returns makes the engine follow them. */
  follow(config: RemoteModelConfig): () => void
}

/** The engine of a remote model. Throws `invalid-request`, as `follow` does, for an API key that is not in the environment. */
export function createRemote(config: RemoteModelConfig, surroundings: Surroundings): RemoteModel {
  const { log, env = process.env } = surroundings
  const source = new ReplaceableSource(createEndpointSource(config, { log, env }))
  return {
    engine: createEngine(config, source, surroundings),
    follow: (changed) => {
      const next = createEndpointSource(changed, { log, env })
      return () => source.replace(next)
    },
  }
}

function createEngine(
  config: RemoteModelConfig,
  endpoints: EndpointSource,
  { log, limits = {}, converter, hash, observer, drains, checks, ejections, findTemplate }: Surroundings,
): Engine {
  const { id, server, protocol, upstreamModel, contextLength, slots, defaults, chatTemplate, addsBos } = config
  const checkNews = checks?.of(id)
  const ejectionNews = ejections?.of(id)
  const { stallMs } = limitsOf(limits, config.limits)
  return createRemoteEngine({
    id,
    endpoints,
    drainMs: config.drainMs,
    holdMs: config.whenEmpty.holdMs,
    router: config.router,
    ...given({ objectives: config.objectives, hash, checkNews, ejectionNews, stallMs, observer, converter }),
    ...given({ services: config.services, upstreamModel, addsBos, contextLength, sampling: defaults }),
    ...(drains !== undefined && { drains: drains.of(id) }),
    ...(config.warmUp !== 'off' && { warmUp: config.warmUp }),
    connections: slots,
    log,
    affinity: config.affinity,
    probesAbilities: config.probe,
    ...(server !== 'auto' && { profile: server }),
    ...(protocol !== 'auto' && { protocol }),
    ...(protocol === 'completions' && { readTemplate: () => readTemplate(chatTemplate, findTemplate) }),
    ...formatSettingsOf(config),
  })
}

async function readTemplate(configured: string | undefined, findTemplate: FindTemplate | undefined) {
  if (configured !== undefined) return readModelTemplate(configured)
  const { source, name } = (await findTemplate?.()) ?? {}
  return source === undefined || name === undefined ? undefined : { source, name }
}
