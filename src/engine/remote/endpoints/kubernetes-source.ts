import { setTimeout as sleep } from 'node:timers/promises'
import { networkReason } from '../../../canonical/failure-reason.ts'
import { endpointsOfSlices, type ServicePort } from './endpoint-slices.ts'
import { endpointsOfPods, type InferencePool, inferencePoolOf } from './inference-pool.ts'
import { type KubernetesAccess, KubernetesApi, KubernetesError, ownNamespace } from './kubernetes-api.ts'
import { collectionOf, listAll, watchAll } from './kubernetes-collection.ts'
import type { SourceOptions } from './polled-source.ts'
import { checkFound, type EndpointSource, type FoundEndpoint, type SourceListener } from './source.ts'

/** What names the pods: a Service, the labels of Services, or an InferencePool. */
export type PodsOf = { readonly service: string } | { readonly selector: string } | { readonly inferencePool: string }

export type KubernetesSourceOptions = SourceOptions &
  ServicePort &
  KubernetesAccess & {
    readonly of: PodsOf
    /** Absent: the pod's namespace. */
    readonly namespace?: string
    /** The wait after the first failure. It doubles with each further one. */
    readonly retryMs?: number
  }

const maxRetryMs = 30_000

/** The pods behind a Service or an InferencePool. Lists them once, then watches them. */
export function kubernetesSource(options: KubernetesSourceOptions): EndpointSource {
  const { warn, of, random = Math.random, retryMs = 1000 } = options
  return {
    follow: (listener) => {
      const stopped = new AbortController()
      const { signal } = stopped
      const run = async () => {
        let failures = 0
        let trouble: string | undefined
        const onOpen = () => {
          failures = 0
          trouble = undefined
        }
        while (!signal.aborted) {
          const reason = await followPods(options, { listener, signal, onOpen })
          if (signal.aborted) return
          if (reason === undefined) {
            // The version was too old: list again.
            await sleep(retryMs * random(), undefined, { signal, ref: false }).catch(() => undefined)
            continue
          }
          const message = `kubernetes: ${Object.values(of).join()}: ${reason}`
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

type Following = { readonly listener: SourceListener; readonly signal: AbortSignal; onOpen(): void }
type Followed = Following & { readonly api: KubernetesApi; readonly namespace: string }

/** Follows the pods until something fails, and resolves with the reason. Undefined when they have to be listed again. */
async function followPods(options: KubernetesSourceOptions, following: Following): Promise<string | undefined> {
  let api: KubernetesApi | undefined
  try {
    const namespace = options.namespace ?? (await ownNamespace(options))
    api = await KubernetesApi.open(options)
    const followed = { ...following, api, namespace }
    const { of } = options
    await ('inferencePool' in of ? followPool(options, of.inferencePool, followed) : followSlices(options, of, followed))
    return undefined
  } catch (error) {
    if (error instanceof KubernetesError && error.status === 410) return undefined
    return networkReason(error)
  } finally {
    await api?.close()
  }
}

async function followSlices(
  options: KubernetesSourceOptions,
  of: { readonly service: string } | { readonly selector: string },
  { listener, signal, api, namespace, onOpen }: Followed,
): Promise<void> {
  const [selector, what, name] =
    'service' in of
      ? [`kubernetes.io/service-name=${of.service}`, `of a Service '${of.service}'`, `${of.service}.${namespace}.svc`]
      : [of.selector, `with the labels '${of.selector}'`, undefined]
  const slices = collectionOf('endpointslices', namespace, { labelSelector: selector })
  const listed = await listAll(api, slices, signal)
  if (listed.objects.size === 0) options.warn(`kubernetes: the namespace ${namespace} has no EndpointSlice ${what}`)
  // The certificates of a Service have its name.
  const given = { ...(name !== undefined && { serverName: name }), ...options }
  const onChange = () => listener.onSet(checkFound(endpointsOfSlices([...listed.objects.values()], given)))
  onChange()
  await watchAll(api, slices, { ...listed, signal, onChange, onOpen })
}

/** Follows the pool, and the pods that it selects. A change of the pool lists the pods again. */
async function followPool(options: KubernetesSourceOptions, name: string, followed: Followed): Promise<void> {
  const { listener, api, namespace } = followed
  const pools = collectionOf('inferencepools', namespace, { fieldSelector: `metadata.name=${name}` })
  const ended = new AbortController()
  const signal = AbortSignal.any([followed.signal, ended.signal])
  try {
    const listed = await listAll(api, pools, signal)
    const current = () => inferencePoolOf(listed.objects.get(name))
    const pool = current()
    const onChange = () => {
      if (JSON.stringify(current()) !== JSON.stringify(pool)) throw new KubernetesError(410, 'the pool has changed')
    }
    const watchPool = (onOpen: () => void) => watchAll(api, pools, { ...listed, signal, onChange, onOpen })
    if (pool === undefined) {
      options.warn(`kubernetes: the namespace ${namespace} has no InferencePool '${name}'`)
      listener.onSet([])
      return await watchPool(followed.onOpen)
    }
    let opened = 0
    const onOpen = () => {
      opened += 1
      // One that may be watched says nothing of the other.
      if (opened === 2) followed.onOpen()
    }
    const pods = await podsOf(options, pool, { ...followed, signal, onOpen })
    await Promise.race([watchPool(onOpen), pods.watch()])
  } finally {
    ended.abort()
  }
}

async function podsOf(options: KubernetesSourceOptions, pool: InferencePool, followed: Followed) {
  const { listener, signal, api, namespace, onOpen } = followed
  const pods = collectionOf('pods', namespace, { labelSelector: pool.selector })
  const listed = await listAll(api, pods, signal)
  let last: readonly FoundEndpoint[] | undefined
  const onChange = () => {
    const found = checkFound(endpointsOfPods([...listed.objects.values()], pool.ports, options))
    // Most changes of a pod do not concern its address.
    if (JSON.stringify(found) !== JSON.stringify(last)) listener.onSet(found)
    last = found
  }
  onChange()
  return { watch: () => watchAll(api, pods, { ...listed, signal, onChange, onOpen }) }
}
