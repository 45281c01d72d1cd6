import type { Logger } from 'pino'
import { parseEndpointList } from '../../config/endpoint-list.ts'
import type { RemoteModelConfig } from '../../config/schema.ts'
import type { EndpointEntry } from '../../config/sections/endpoints-schema.ts'
import { AppError } from '../../contract/errors.ts'
import { dnsSource } from '../../engine/remote/endpoints/dns-source.ts'
import { fileSource } from '../../engine/remote/endpoints/file-source.ts'
import { kubernetesSource } from '../../engine/remote/endpoints/kubernetes-source.ts'
import { findSeveralAddresses, severalAddresses } from '../../engine/remote/endpoints/several-addresses.ts'
import { type EndpointSource, type FoundEndpoint, fixedSource, joinedSource } from '../../engine/remote/endpoints/source.ts'

const defaultPath = '/v1'
const defaultEveryMs = 5000

type Sources = { readonly log: Logger; readonly env: NodeJS.ProcessEnv }

/** The source of a remote model's servers. Throws `invalid-request` for an API key that is missing from the environment. */
export function createEndpointSource(
  { id, endpoints }: Pick<RemoteModelConfig, 'id' | 'endpoints'>,
  { log, env }: Sources,
): EndpointSource {
  const warn = (reason: string) => log.warn({ model: id, reason }, 'endpoints of the model')
  const traitsOf: Tools['traitsOf'] = ({ kind, apiKeyEnv, upstreamModel }) => ({
    ...(upstreamModel !== undefined && { upstreamModel }),
    ...(kind === 'router' && { isRouter: true }),
    ...readKey(apiKeyEnv, { user: `model '${id}'`, env }),
  })
  const plain = endpoints.flatMap((entry) => {
    return entry.url === undefined ? [] : [{ url: entry.url, weight: entry.weight, ...traitsOf(entry) }]
  })
  const sources = endpoints.filter(({ url }) => url === undefined)
  return joinedSource([
    ...(plain.length > 0 ? [plainSource(plain, warn)] : []),
    ...sources.map((entry) =>
      withTraits(sourceOf(entry, { traitsOf, warn, env }), entry.weight, {
        ...traitsOf(entry),
        source: entry.dns !== undefined ? 'dns' : entry.file !== undefined ? 'file' : 'kubernetes',
      }),
    ),
  ])
}

type Traits = Pick<FoundEndpoint, 'apiKey' | 'isRouter' | 'upstreamModel' | 'source'>
type Tools = {
  traitsOf(described: Pick<EndpointEntry, 'kind' | 'apiKeyEnv' | 'upstreamModel'>): Traits
  warn(reason: string): void
  readonly env: NodeJS.ProcessEnv
}

function sourceOf(entry: EndpointEntry, { traitsOf, warn, env }: Tools): EndpointSource {
  const { dns, file, kubernetes, port, path = defaultPath, everyMs = defaultEveryMs, nameServers, https, serverName } = entry
  const tls = { ...(https !== undefined && { https }), ...(serverName !== undefined && { serverName }) }
  if (dns !== undefined) {
    const given = { ...(port !== undefined && { port }), ...(nameServers !== undefined && { nameServers }) }
    return dnsSource({ dns, path, everyMs, warn, ...given, ...tls })
  }
  if (file !== undefined) {
    const parse = (text: string): readonly FoundEndpoint[] =>
      parseEndpointList(text, path).map((one) => ({ url: one.url, weight: one.weight, ...traitsOf(one) }))
    return fileSource({ file, everyMs, parse, warn })
  }
  if (kubernetes === undefined) throw new Error('not a source')
  const { service = '', selector, inferencePool, zone = env.DRAGOMAN_ZONE, ...place } = kubernetes
  const of = inferencePool !== undefined ? { inferencePool } : selector !== undefined ? { selector } : { service }
  const inZone = zone !== undefined && zone !== '' ? { zone } : {}
  return kubernetesSource({ ...place, of, port: place.port, path, warn, ...tls, ...inZone })
}

/** Servers that do not change. The first name with several addresses gets a warning: all its requests go to one of them. */
function plainSource(endpoints: readonly FoundEndpoint[], warn: Tools['warn']): EndpointSource {
  const source = fixedSource(endpoints)
  let isLookedUp = false
  const lookUp = async () => {
    isLookedUp = true
    const found = await findSeveralAddresses(endpoints.map(({ url }) => url))
    if (found !== undefined) warn(severalAddresses(found))
  }
  return {
    follow: (listener) => {
      if (!isLookedUp) void lookUp()
      return source.follow(listener)
    },
  }
}

/** Applies the settings of a source to each of its servers, unless the server overrides them. */
function withTraits(source: EndpointSource, weight: number, traits: Traits): EndpointSource {
  return {
    follow: ({ onSet, onFailure }) =>
      source.follow({
        onFailure,
        onSet: (found) => onSet(found.map((one) => ({ ...traits, ...one, weight: one.weight * weight }))),
      }),
  }
}

/** The key in a variable. Throws `invalid-request` if it is not set; `user`: what needs it. */
export function readKey(
  name: string | undefined,
  { user, env }: { readonly user: string; readonly env: NodeJS.ProcessEnv },
): { readonly apiKey?: string } {
  if (name === undefined) return {}
  const apiKey = env[name]
  if (apiKey !== undefined && apiKey !== '') return { apiKey }
  throw new AppError('invalid-request', `${user} needs the environment variable ${name}, which is not set`)
}
