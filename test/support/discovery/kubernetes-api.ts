import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { listenOnLoopback } from '../upstream/loopback.ts'

type Conditions = { readonly ready?: boolean; readonly serving?: boolean; readonly terminating?: boolean }
export type Pod = { readonly ip: string } & Conditions
type Slice = ReturnType<typeof sliceOf>

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
    endpoints: pods.map(({ ip, ready = true, serving = ready, terminating = false }) => ({
      addresses: [ip],
      conditions: { ready, serving, terminating },
    })),
  }
}

/**
 * As much of the API server as a client of EndpointSlices needs: lists by pages, watches with versions and bookmarks, 410 for what is
 * forgotten. `cut` ends the watches in the middle of a line.
 */
export async function startKubernetesApi(tls?: { readonly key: Buffer; readonly cert: Buffer }) {
  const slices = new Map<string, Slice>()
  const history: { readonly version: number; readonly line: string }[] = []
  const watches = new Set<ServerResponse>()
  const seen: { readonly query: URLSearchParams; readonly path: string; readonly authorization: string | undefined }[] = []
  let version = 100
  /** Versions before it are forgotten. */
  let oldest = 100
  let refusal: number | undefined
  let mayWatch = true
  const onRequest = ({ url = '', headers }: IncomingMessage, response: ServerResponse) => {
    const { pathname, searchParams: query } = new URL(url, 'http://api')
    seen.push({ query, path: pathname, authorization: headers.authorization })
    if (refusal !== undefined) return void response.writeHead(refusal).end('{}')
    if (!mayWatch && query.get('watch') !== null) return void response.writeHead(403).end('{}')
    response.writeHead(200, { 'content-type': 'application/json' })
    if (query.get('watch') === null) return void response.end(JSON.stringify(page(Number(query.get('continue') ?? 0))))
    const from = Number(query.get('resourceVersion'))
    if (from < oldest) {
      const status = { kind: 'Status', status: 'Failure', reason: 'Expired', code: 410, message: 'too old resource version' }
      return void response.end(`${JSON.stringify({ type: 'ERROR', object: status })}\n`)
    }
    for (const event of history) if (event.version > from) response.write(event.line)
    response.flushHeaders()
    watches.add(response)
    response.on('close', () => watches.delete(response))
  }
  /** Two at a time. */
  const page = (first: number) => {
    const all = [...slices.values()]
    const next = first + 2 < all.length ? { continue: `${first + 2}` } : {}
    return { kind: 'EndpointSliceList', metadata: { resourceVersion: `${version}`, ...next }, items: all.slice(first, first + 2) }
  }
  const send = (type: string, object: object) => {
    const line = `${JSON.stringify({ type, object })}\n`
    history.push({ version, line })
    for (const watch of watches) watch.write(line)
  }
  const { origin, close } = tls === undefined ? await listenOnLoopback(onRequest) : await listenWithTls(tls, onRequest)
  onTestFinished(() => close())
  return {
    origin,
    seen,
    watches: () => watches.size,
    lists: () => seen.filter(({ query }) => query.get('watch') === null).length,
    put(...put: readonly Slice[]): void {
      for (const slice of put) {
        version += 1
        const isNew = !slices.has(slice.metadata.name)
        const stored = { ...slice, metadata: { ...slice.metadata, resourceVersion: `${version}` } }
        slices.set(slice.metadata.name, stored)
        send(isNew ? 'ADDED' : 'MODIFIED', stored)
      }
    },
    remove(name: string): void {
      version += 1
      const stored = slices.get(name)
      slices.delete(name)
      send('DELETED', { ...stored, metadata: { ...stored?.metadata, resourceVersion: `${version}` } })
    },
    /** Something else has changed in the cluster: only the version. */
    bookmark(): void {
      version += 7
      send('BOOKMARK', { kind: 'EndpointSlice', metadata: { resourceVersion: `${version}` } })
    },
    /** Changes without an event. */
    forget(...left: readonly Slice[]): void {
      version += 1
      oldest = version
      history.length = 0
      slices.clear()
      for (const slice of left) slices.set(slice.metadata.name, slice)
    },
    cut(): void {
      for (const watch of watches) {
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
