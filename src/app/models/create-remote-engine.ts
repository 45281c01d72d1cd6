import type { Logger } from 'pino'
import type { RemoteModelConfig } from '../../config/schema.ts'
import type { FleetObserver } from '../../contract/attempts.ts'
import type { Engine } from '../../contract/engine.ts'
import { AppError } from '../../contract/errors.ts'
import type { MediaConverter } from '../../contract/media-converter.ts'
import { createRemoteEngine } from '../../engine/remote/engine.ts'
import type { Drains } from './drains.ts'
import { readModelTemplate } from './read-model-template.ts'

type Surroundings = {
  readonly log: Logger
  readonly converter?: MediaConverter
  readonly env?: NodeJS.ProcessEnv
  /** Names sessions to routers. */
  hash?(text: string): string
  /** Hears what becomes of attempts, and of servers that fail. */
  readonly observer?: FleetObserver
  readonly drains?: Drains
}

/** The engine of a remote model. Throws `invalid-request` for an API key that is not in the environment. */
export function createRemote(
  config: RemoteModelConfig,
  { log, converter, hash, observer, drains, env = process.env }: Surroundings,
): Engine {
  const { id, endpoints, server, protocol, upstreamModel, contextLength, toolFormat, slots, defaults, chatTemplate, addsBos } =
    config
  return createRemoteEngine({
    id,
    endpoints: endpoints.map(({ url, apiKeyEnv, weight, kind, upstreamModel: ownName }) => ({
      url,
      weight,
      ...(ownName !== undefined && { upstreamModel: ownName }),
      ...(kind === 'router' && { isRouter: true as const }),
      ...readKey(apiKeyEnv, { user: `model '${id}'`, env }),
    })),
    router: config.router,
    ...(config.objectives !== undefined && { objectives: config.objectives }),
    ...(hash !== undefined && { hash }),
    ...(drains !== undefined && { drains: drains.of(id) }),
    ...(config.warmUp !== 'off' && { warmUp: config.warmUp }),
    connections: slots,
    log,
    ...(observer !== undefined && { observer }),
    ...(converter !== undefined && { converter }),
    probesAbilities: config.probe,
    ...(config.services !== undefined && { services: config.services }),
    ...(server !== 'auto' && { profile: server }),
    ...(protocol !== 'auto' && { protocol }),
    ...(upstreamModel !== undefined && { upstreamModel }),
    ...(chatTemplate !== undefined && { readTemplate: () => readModelTemplate(chatTemplate) }),
    ...(addsBos !== undefined && { addsBos }),
    ...(contextLength !== undefined && { contextLength }),
    ...(toolFormat !== undefined && toolFormat !== 'auto' && { toolFormat }),
    ...(defaults !== undefined && { sampling: defaults }),
  })
}

/** The key in a variable. Throws `invalid-request` where it is not set; `user` is what needs it. */
export function readKey(
  name: string | undefined,
  { user, env }: { readonly user: string; readonly env: NodeJS.ProcessEnv },
): { readonly apiKey?: string } {
  if (name === undefined) return {}
  const apiKey = env[name]
  if (apiKey !== undefined && apiKey !== '') return { apiKey }
  throw new AppError('invalid-request', `${user} needs the environment variable ${name}, which is not set`)
}
