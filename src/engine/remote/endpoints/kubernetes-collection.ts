import { setTimeout as sleep } from 'node:timers/promises'
import { withTimeLimit } from '../../../base/time-limit.ts'
import { asArray, asObject, asText, type Loose } from '../transport/loose-json.ts'
import { type KubernetesApi, KubernetesError } from './kubernetes-api.ts'

/**
 * Where each kind of object is, how many are sent at a time, and how many a source may have. A Service with a thousand pods takes half a
 * megabyte in twenty slices; the pods themselves take ten.
 */
const kinds = {
  endpointslices: { root: '/apis/discovery.k8s.io/v1', pageSize: 500, most: 100, mostBytes: 16 * 1024 * 1024 },
  inferencepools: { root: '/apis/inference.networking.k8s.io/v1', pageSize: 10, most: 10, mostBytes: 2 * 1024 * 1024 },
  pods: { root: '/api/v1', pageSize: 100, most: 2000, mostBytes: 64 * 1024 * 1024 },
}

/** Objects of one kind in a namespace. */
export type Collection = (typeof kinds)[keyof typeof kinds] & {
  readonly kind: keyof typeof kinds
  /** With the query that selects them. */
  readonly path: string
}

export type Listed = { readonly objects: Map<string, Loose>; readonly version: string }

type Watching = Listed & {
  readonly signal: AbortSignal
  /** Some objects have changed. */
  onChange(): void
  /** The list has arrived, and its changes will. */
  onOpen(): void
}

const watchSeconds = 300
const mostPages = 100
const listLimit = { timeoutMs: 30_000, tooLate: () => new Error('the API server did not send its list within 30 s') }

export function collectionOf(kind: keyof typeof kinds, namespace: string, query: Readonly<Record<string, string>>): Collection {
  const path = `${kinds[kind].root}/namespaces/${encodeURIComponent(namespace)}/${kind}?${new URLSearchParams(query)}`
  return { ...kinds[kind], kind, path }
}

/** Lists the collection, page by page. */
export function listAll(api: KubernetesApi, collection: Collection, signal: AbortSignal): Promise<Listed> {
  return withTimeLimit(signal, listLimit, (limited) => listPages(api, collection, limited))
}

async function listPages(api: KubernetesApi, collection: Collection, signal: AbortSignal): Promise<Listed> {
  const { path, pageSize, mostBytes } = collection
  const objects = new Map<string, Loose>()
  let leftBytes = mostBytes
  let next = ''
  for (let pages = 0; pages < mostPages; pages += 1) {
    const text = await api.get(`${path}&limit=${pageSize}${next}`, { signal, mostBytes: leftBytes })
    leftBytes -= Buffer.byteLength(text)
    const page = asObject(JSON.parse(text))
    for (const object of asArray(page?.items).map(asObject)) if (object !== undefined) keep(objects, object, collection)
    const metadata = asObject(page?.metadata)
    const token = asText(metadata?.continue) ?? ''
    if (token === '') return { objects, version: asText(metadata?.resourceVersion) ?? '' }
    next = `&continue=${encodeURIComponent(token)}`
  }
  throw new Error(`the list has more than ${mostPages} pages`)
}

/** Keeps what was listed up to date, reconnecting from the last version that was seen. Rejects when that is impossible. */
export async function watchAll(
  api: KubernetesApi,
  collection: Collection,
  { objects, version: first, signal, onChange, onOpen }: Watching,
): Promise<void> {
  let version = first
  while (!signal.aborted) {
    const query = `&watch=1&allowWatchBookmarks=true&timeoutSeconds=${watchSeconds}&resourceVersion=${encodeURIComponent(version)}`
    let events = 0
    for await (const lines of api.lines(collection.path + query, { signal, onOpen })) {
      const seen = lines.flatMap((line) => readEvent(line) ?? [])
      const changes = seen.filter(({ type }) => type !== 'BOOKMARK')
      for (const { type, object } of changes) {
        if (type === 'DELETED') objects.delete(nameOf(object))
        else keep(objects, object, collection)
      }
      events += seen.length
      version = seen.findLast((event) => event.version !== undefined)?.version ?? version
      // One report for all objects that arrive together: each report visits all objects.
      if (changes.length > 0) onChange()
    }
    // A watch that ended without an event is not repeated without a pause.
    if (events === 0) await sleep(1000, undefined, { signal, ref: false }).catch(() => undefined)
  }
}

type WatchEvent = { readonly type: unknown; readonly object: Loose; readonly version: string | undefined }

/** Throws the server's error. */
function readEvent(line: string): WatchEvent | undefined {
  const event = asObject(JSON.parse(line))
  const object = asObject(event?.object)
  if (event === undefined || object === undefined) return undefined
  if (event.type === 'ERROR') throw new KubernetesError(typeof object.code === 'number' ? object.code : 500, `${object.message}`)
  return { type: event.type, object, version: asText(asObject(object.metadata)?.resourceVersion) }
}

function keep(objects: Map<string, Loose>, object: Loose, { kind, most }: Collection): void {
  objects.set(nameOf(object), object)
  if (objects.size > most) throw new Error(`there are more than ${most} ${kind}`)
}

function nameOf(object: Loose): string {
  return asText(asObject(object.metadata)?.name) ?? ''
}
