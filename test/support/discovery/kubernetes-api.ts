import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { listenOnLoopback } from '../upstream/loopback.ts'

type Conditions = { readonly ready?: boolean; readonly serving?: boolean; readonly terminating?: boolean }
export type Pod = { readonly ip: string; readonly zone?: string; readonly forZones?: readonly string[] } & Conditions
type Slice = ReturnType<typeof sliceOf>
type Metadata = { readonly name: string; readonly resourceVersion: string; readonly labels?: Readonly<Record<string, string>> }
export type KubernetesObject = { readonly kind: string; readonly metadata: Metadata }

/** What the paths of the API call them. */
const kinds: Readonly<Record<string, string>> = { endpointslices: 'EndpointSlice', pods: 'Pod', inferencepools: 'InferencePool' }

/** A pod as the API server writes it. */
export function podOf(ip: string, more: { readonly ready?: boolean; readonly zone?: string; readonly leaves?: true } = {}) {
  const { ready = true, zone, leaves } = more
  const labels = { app: 'vllm', ...(zone !== undefined && { 'topology.kubernetes.io/zone': zone }) }
  const deletionTimestamp = leaves === undefined ? {} : { deletionTimestamp: '2026-01-01T00:00:00Z' }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `vllm-${ip}`, resourceVersion: '', labels, ...deletionTimestamp },
    status: {
      phase: 'Running',
      podIP: ip,
      podIPs: [{ ip }, { ip: 'fd00::1' }],
      conditions: [
        { type: 'PodScheduled', status: 'True' },
        { type: 'Ready', status: ready ? 'True' : 'False' },
      ],
    },
  }
}

/** An InferencePool of the Gateway API Inference Extension. */
export function inferencePool(name: string, ports: readonly number[], matchLabels = { app: 'vllm' }) {
  return {
    apiVersion: 'inference.networking.k8s.io/v1',
    kind: 'InferencePool',
    metadata: { name, resourceVersion: '' },
    spec: {
      selector: { matchLabels },
      targetPorts: ports.map((number) => ({ number })),
      endpointPickerRef: { name: `${name}-epp`, port: { number: 9002 } },
    },
  }
}

/** An EndpointSlice with these pods, as the API server writes it. */
export function sliceOf(
  name: string,
  pods: readonly Pod[],
  more: { readonly port?: number; readonly addressType?: string; readonly appProtocol?: string } = {},
) {
  const { port = 8000, addressType = 'IPv4', appProtocol } = more
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name, resourceVersion: '', labels: { 'kubernetes.io/service-name': 'vllm' } },
    addressType,
    ports: [
      { name: 'http', port, protocol: 'TCP', ...(appProtocol !== undefined && { appProtocol }) },
      { name: 'metrics', port: 9000, protocol: 'TCP' },
    ],
    endpoints: pods.map(({ ip, zone, forZones, ready = true, serving = ready, terminating = false }) => ({
      addresses: [ip],
      conditions: { ready, serving, terminating },
      ...(zone !== undefined && { zone }),
      ...(forZones !== undefined && { hints: { forZones: forZones.map((name) => ({ name })) } }),
    })),
  }
}

/**
 * As much of the API server as a client of EndpointSlices, pods and InferencePools needs: lists by pages, watches with versions and bookmarks, 410 for what is
 * forgotten. `cut` ends the watches in the middle of a line.
 */
export async function startKubernetesApi(tls?: { readonly key: Buffer; readonly cert: Buffer }) {
  const objects = new Map<string, KubernetesObject>()
  const history: { readonly version: number; readonly object: KubernetesObject; readonly line: string }[] = []
  /** With what each follows. */
  const watches = new Map<ServerResponse, (object: KubernetesObject) => boolean>()
  const seen: { readonly query: URLSearchParams; readonly path: string; readonly authorization: string | undefined }[] = []
  let version = 100
  /** Versions before it are forgotten. */
  let oldest = 100
  let refusal: number | undefined
  let mayWatch = true
  const onRequest = ({ url = '', headers }: IncomingMessage, response: ServerResponse) => {
    const { pathname, searchParams: query } = new URL(url, 'http://api')
    seen.push({ query, path: pathname, authorization: headers.authorization })
    if (refusal !== undefined) return void response.writeHead(refusal).end(JSON.stringify({ kind: 'Status', message: 'no' }))
    if (!mayWatch && query.get('watch') !== null) return void response.writeHead(403).end('{}')
    response.writeHead(200, { 'content-type': 'application/json' })
    const isWanted = selects(pathname, query)
    if (query.get('watch') === null) return void response.end(JSON.stringify(page(isWanted, Number(query.get('continue') ?? 0))))
    const from = Number(query.get('resourceVersion'))
    if (from < oldest) {
      const status = { kind: 'Status', status: 'Failure', reason: 'Expired', code: 410, message: 'too old resource version' }
      return void response.end(`${JSON.stringify({ type: 'ERROR', object: status })}\n`)
    }
    for (const { version, object, line } of history) if (version > from && isWanted(object)) response.write(line)
    response.flushHeaders()
    watches.set(response, isWanted)
    response.on('close', () => watches.delete(response))
  }
  /** Two at a time. */
  const page = (isWanted: (object: KubernetesObject) => boolean, first: number) => {
    const all = [...objects.values()].filter(isWanted)
    const next = first + 2 < all.length ? { continue: `${first + 2}` } : {}
    return { kind: 'List', metadata: { resourceVersion: `${version}`, ...next }, items: all.slice(first, first + 2) }
  }
  const send = (type: string, object: KubernetesObject) => {
    const line = `${JSON.stringify({ type, object })}\n`
    history.push({ version, object, line })
    for (const [watch, isWanted] of watches) if (type === 'BOOKMARK' || isWanted(object)) watch.write(line)
  }
  const { origin, close } = tls === undefined ? await listenOnLoopback(onRequest) : await listenWithTls(tls, onRequest)
  onTestFinished(() => close())
  return {
    origin,
    seen,
    watches: () => watches.size,
    lists: () => seen.filter(({ query }) => query.get('watch') === null).length,
    put(...put: readonly KubernetesObject[]): void {
      for (const object of put) {
        version += 1
        const isNew = !objects.has(object.metadata.name)
        const stored = { ...object, metadata: { ...object.metadata, resourceVersion: `${version}` } }
        objects.set(object.metadata.name, stored)
        send(isNew ? 'ADDED' : 'MODIFIED', stored)
      }
    },
    remove(name: string): void {
      version += 1
      const stored = objects.get(name)
      if (stored === undefined) throw new Error(`there is no ${name}`)
      objects.delete(name)
      send('DELETED', { ...stored, metadata: { ...stored.metadata, resourceVersion: `${version}` } })
    },
    /** Something else has changed in the cluster: only the version. */
    bookmark(): void {
      version += 7
      send('BOOKMARK', { kind: 'EndpointSlice', metadata: { name: '', resourceVersion: `${version}` } })
    },
    /** Changes without an event. */
    forget(...left: readonly Slice[]): void {
      version += 1
      oldest = version
      history.length = 0
      objects.clear()
      for (const slice of left) objects.set(slice.metadata.name, slice)
    },
    cut(): void {
      for (const watch of watches.keys()) {
        watch.write('{"type":"MODIFIED","object":{"metadata":{"name":"vllm-1","resourceVer', () => watch.destroy())
      }
    },
    /** As to a role without the verb `watch`. */
    forbidWatching(): void {
      mayWatch = false
    },
    refuse(status: number | undefined): void {
      refusal = status
    },
  }
}

/** Whether a list or watch has an object: by its kind, its labels and its name. */
function selects(path: string, query: URLSearchParams): (object: KubernetesObject) => boolean {
  const kind = kinds[path.split('/').at(-1) ?? '']
  const labels = (query.get('labelSelector') ?? '').split(',').filter((one) => one !== '')
  const name = query.get('fieldSelector')?.replace('metadata.name=', '')
  return ({ kind: own, metadata }) =>
    own === kind &&
    (name === undefined || name === metadata.name) &&
    labels.every((one) => metadata.labels?.[one.split('=')[0] ?? ''] === one.split('=')[1])
}

async function listenWithTls(tls: { readonly key: Buffer; readonly cert: Buffer }, listener: RequestListener) {
  const server = createServer(tls, listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    origin: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
