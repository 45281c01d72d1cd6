import { setTimeout as sleep } from 'node:timers/promises'
import { withTimeLimit } from '../../../base/time-limit.ts'
import { networkReason } from '../../../canonical/failure-reason.ts'
import { asArray, asObject, asText, type Loose } from '../transport/loose-json.ts'
import { endpointsOfSlices, type ServicePort } from './endpoint-slices.ts'
import { type KubernetesAccess, KubernetesApi, KubernetesError, ownNamespace } from './kubernetes-api.ts'
import type { SourceOptions } from './polled-source.ts'
import { checkFound, type EndpointSource, type SourceListener } from './source.ts'

export type KubernetesSourceOptions = SourceOptions &
  ServicePort &
  KubernetesAccess & {
    readonly service: string
    /** Absent: the pod's namespace. */
    readonly namespace?: string
    /** The wait after the first failure. It doubles with each further one. */
    readonly retryMs?: number
  }

const watchSeconds = 300
const pageSize = 500
/** A Service with a thousand pods takes half a megabyte in twenty slices. */
const mostListBytes = 16 * 1024 * 1024
const mostPages = 100
const mostSlices = 100
const listLimit = { timeoutMs: 30_000, tooLate: () => new Error('the API server did not send its list within 30 s') }
const maxRetryMs = 30_000

/** The pods behind a Service. Lists its EndpointSlices once, then watches them. */
export function kubernetesSource(options: KubernetesSourceOptions): EndpointSource {
  const { warn, service, random = Math.random, retryMs = 1000 } = options
  return {
    follow: (listener) => {
      const stopped = new AbortController()
      const { signal } = stopped
      const run = async () => {
        let failures = 0
        let trouble: string | undefined
        const onWatching = () => {
          failures = 0
          trouble = undefined
        }
        while (!signal.aborted) {
          const reason = await followSlices(options, { listener, signal, onWatching })
          if (signal.aborted) return
          if (reason === undefined) {
            // The version was too old: list again.
            await sleep(retryMs * random(), undefined, { signal, ref: false }).catch(() => undefined)
            continue
          }
          const message = `kubernetes: ${service}: ${reason}`
          if (message !== trouble) warn(message)
          trouble = message
          listener.onFailure(message)
          const waitMs = Math.min(maxRetryMs, retryMs * 2 ** failures)
          failures += 1
          await sleep(waitMs * (0.5 + random() / 2), undefined, { signal, ref: false }).catch(() => undefined)
        }
      }
      void run()
      return { stop: () => stopped.abort() }
    },
  }
}

/** `onWatching`: the list has arrived, and its changes will. */
type SliceWatch = { readonly listener: SourceListener; readonly signal: AbortSignal; onWatching(): void }

/** Follows the slices until something fails, and resolves with the reason. Undefined when the watch has to start over. */
async function followSlices(
  options: KubernetesSourceOptions,
  { listener, signal, onWatching }: SliceWatch,
): Promise<string | undefined> {
  let api: KubernetesApi | undefined
  try {
    const namespace = options.namespace ?? (await ownNamespace(options))
    api = await KubernetesApi.open(options)
    const selector = encodeURIComponent(`kubernetes.io/service-name=${options.service}`)
    const path = `/apis/discovery.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/endpointslices?labelSelector=${selector}`
    const { slices, version } = await list(api, path, signal)
    if (slices.size === 0)
      options.warn(`kubernetes: the namespace ${namespace} has no EndpointSlice of a Service '${options.service}'`)
    const report = () => listener.onSet(checkFound(endpointsOfSlices([...slices.values()], options)))
    report()
    await watch(api, { path, version, signal, slices, report, onWatching })
    return undefined
  } catch (error) {
    if (error instanceof KubernetesError && error.status === 410) return undefined
    return networkReason(error)
  } finally {
    await api?.close()
  }
}

/** The slices of a Service by name, and the version of the list. */
function list(api: KubernetesApi, path: string, signal: AbortSignal) {
  return withTimeLimit(signal, listLimit, (limited) => listPages(api, path, limited))
}

async function listPages(api: KubernetesApi, path: string, signal: AbortSignal) {
  const slices = new Map<string, Loose>()
  let leftBytes = mostListBytes
  let next = ''
  for (let pages = 0; pages < mostPages; pages += 1) {
    const text = await api.get(`${path}&limit=${pageSize}${next}`, { signal, mostBytes: leftBytes })
    leftBytes -= Buffer.byteLength(text)
    const page = asObject(JSON.parse(text))
    for (const slice of asArray(page?.items).map(asObject)) if (slice !== undefined) keep(slices, slice)
    const metadata = asObject(page?.metadata)
    const token = asText(metadata?.continue) ?? ''
    if (token === '') return { slices, version: asText(metadata?.resourceVersion) ?? '' }
    next = `&continue=${encodeURIComponent(token)}`
  }
  throw new Error(`the list has more than ${mostPages} pages`)
}

function keep(slices: Map<string, Loose>, slice: Loose): void {
  slices.set(nameOf(slice), slice)
  if (slices.size > mostSlices) throw new Error(`the Service has more than ${mostSlices} EndpointSlices`)
}

type Watch = {
  readonly path: string
  readonly version: string
  readonly signal: AbortSignal
  readonly slices: Map<string, Loose>
  report(): void
  onWatching(): void
}

/** Watches, reconnecting from the last version that was seen. Rejects when that is impossible. */
async function watch(api: KubernetesApi, { path, version: first, signal, slices, report, onWatching }: Watch): Promise<void> {
  let version = first
  while (!signal.aborted) {
    const query = `&watch=1&allowWatchBookmarks=true&timeoutSeconds=${watchSeconds}&resourceVersion=${encodeURIComponent(version)}`
    let events = 0
    for await (const lines of api.lines(path + query, { signal, onOpen: onWatching })) {
      let hasChanged = false
      for (const line of lines) {
        const event = asObject(JSON.parse(line))
        const object = asObject(event?.object)
        if (event === undefined || object === undefined) continue
        if (event.type === 'ERROR')
          throw new KubernetesError(typeof object.code === 'number' ? object.code : 500, `${object.message}`)
        events += 1
        version = asText(asObject(object.metadata)?.resourceVersion) ?? version
        if (event.type === 'BOOKMARK') continue
        if (event.type === 'DELETED') slices.delete(nameOf(object))
        else keep(slices, object)
        hasChanged = true
      }
      // One report for all slices that arrive together: each report visits all slices.
      if (hasChanged) report()
    }
    // A watch that ended without an event is not repeated without a pause.
    if (events === 0) await sleep(1000, undefined, { signal, ref: false }).catch(() => undefined)
  }
}

function nameOf(slice: Loose): string {
  return asText(asObject(slice.metadata)?.name) ?? ''
}
