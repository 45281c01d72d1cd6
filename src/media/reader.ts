import { KeyedQueue } from '../base/queue.ts'
import { AppError } from '../contract/errors.ts'
import type { FileStore } from '../contract/file-store.ts'
import type { HeldMedia, MediaBytes, MediaCaller, MediaItem, MediaReader } from '../contract/media.ts'
import { checkBytes, refuseSize } from './check-bytes.ts'
import { checkReference, notFetched, notStored, unknownScheme } from './check-reference.ts'
import { fetchUrl } from './fetch-url.ts'
import type { Guard } from './guarded-connect.ts'
import { invalid } from './invalid.ts'
import { defaultCache, defaultLimits, defaultMemoryBytes, formatBytes, type MediaLimits } from './limits.ts'
import { isLocal, readLocalFile } from './local-file.ts'
import { MemoryRoom } from './memory-room.ts'
import { type FoundBytes, readBase64, readDataUrl } from './read-inline.ts'
import { type CacheKey, UrlCache } from './url-cache.ts'

export type MediaOptions = {
  readonly limits?: Partial<MediaLimits>
  /** Absent: no URL is fetched. */
  readonly urls?: Guard & { readonly domains?: readonly string[] | undefined }
  /** The folder whose files requests may name; absent: none. */
  readonly folder?: string
  /** The uploads of callers; absent: none. */
  readonly files?: Pick<FileStore, 'get' | 'content'>
  readonly memoryBytes?: number
  readonly cache?: { readonly maxBytes: number; readonly ttlMs?: number }
}

/** Items of a request that are read concurrently, and concurrent fetches of a caller. */
const parallelItems = 4
const parallelFetches = 8

type Share = ReturnType<MemoryRoom['open']>

/** Reads the media of requests: the only place that opens files and addresses that a request names. */
export function createMediaReader(options: MediaOptions = {}): MediaReader {
  const limits = { ...defaultLimits, ...options.limits }
  const room = new MemoryRoom(options.memoryBytes ?? defaultMemoryBytes)
  const cache = new UrlCache({ ...defaultCache, ...options.cache, now: () => performance.now() })
  const lanes = new KeyedQueue<string>(parallelFetches)
  return { check: checkAll, read }

  function checkAll(items: readonly MediaItem[]): void {
    refuseCount(items, limits)
    for (const item of items) checkReference(item, options)
  }

  async function read(items: readonly MediaItem[], { principal, signal }: MediaCaller): Promise<HeldMedia> {
    refuseCount(items, limits)
    const share = room.open()
    const stop = new AbortController()
    const work = { share, owner: principal.id, signal: AbortSignal.any([signal, stop.signal]) }
    const known = new Map<string, Promise<MediaBytes>>()
    let totalBytes = 0
    try {
      const readNext = async (item: MediaItem) => {
        work.signal.throwIfAborted()
        const bytes = await once(known, nameOf(item), () => readOne(item, work))
        totalBytes += bytes.sizeBytes
        if (totalBytes > limits.maxTotalBytes) throw tooMuch(item, limits)
        return bytes
      }
      return {
        media: await inParallel(items, { width: parallelItems, stop, signal: work.signal }, readNext),
        release: share.close,
      }
    } catch (error) {
      share.close()
      throw error
    }
  }

  async function readOne(item: MediaItem, work: Work): Promise<MediaBytes> {
    const { source } = item
    if (source.type !== 'url' || !/^https?:/i.test(source.url)) return check(item, await find(item, work))
    const key = { owner: work.owner, kind: item.kind, url: source.url }
    const cached = options.urls === undefined ? undefined : cache.get(key)
    if (cached === undefined) return fetchOne(item, key, work)
    work.share.grow(cached.sizeBytes)
    return cached
  }

  async function fetchOne(item: MediaItem, key: CacheKey, { share, owner, signal }: Work): Promise<MediaBytes> {
    const { urls } = options
    if (urls === undefined) throw notFetched(item)
    const limit = { timeoutMs: limits.timeoutMs[item.kind], maxBytes: limits.maxBytes[item.kind], grow: share.grow }
    const found = await lanes.run(owner, signal, () => fetchUrl(key.url, { item, signal }, { ...urls, ...limit }))
    const media = await check(item, found)
    if (found.mayBeKept) cache.set(key, media)
    return media
  }

  async function find(item: MediaItem, work: Work): Promise<FoundBytes> {
    const { share, signal } = work
    const { source } = item
    switch (source.type) {
      case 'base64': {
        const found = await readBase64(source.base64, item, limits)
        return { ...found, ...(source.mediaType !== undefined && { declared: source.mediaType }) }
      }
      case 'url': {
        const { url } = source
        if (/^data:/i.test(url)) return readDataUrl(url, item, limits)
        if (!isLocal(url)) throw unknownScheme(item, url)
        const bytes = await readLocalFile(url, { item, signal }, { folder: options.folder, limits })
        share.grow(bytes.length)
        return { bytes }
      }
      case 'file':
        return readUpload(source.id, item, work)
    }
  }

  async function readUpload(id: string, item: MediaItem, { share, owner, signal }: Work): Promise<FoundBytes> {
    const { files } = options
    if (files === undefined) throw notStored(item)
    try {
      const { mediaType, sizeBytes } = await files.get(owner, id)
      refuseSize(sizeBytes, item, limits)
      share.grow(sizeBytes)
      const pieces: Uint8Array[] = []
      for await (const piece of await files.content(owner, id)) {
        signal.throwIfAborted()
        pieces.push(piece)
      }
      return { bytes: Buffer.concat(pieces, sizeBytes), declared: mediaType }
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'not-found') throw error
      throw invalid(item.at, `is not one of your files ('${id.slice(0, 80)}'): upload it with POST /v1/files`, error)
    }
  }

  async function check(item: MediaItem, { bytes, base64, declared }: FoundBytes): Promise<MediaBytes> {
    const facts = await checkBytes(bytes, { ...item, declared }, limits)
    return { type: 'bytes', base64: base64 ?? bytes.toString('base64'), ...facts }
  }
}

type Work = { readonly share: Share; readonly owner: string; readonly signal: AbortSignal }

/** A key, so that media named twice are fetched once; inline bytes have none. */
function nameOf({ kind, source }: MediaItem): string | undefined {
  return source.type === 'url' && !/^data:/i.test(source.url) ? `${kind} ${source.url}` : undefined
}

function once<T>(known: Map<string, Promise<T>>, name: string | undefined, work: () => Promise<T>): Promise<T> {
  const found = name === undefined ? undefined : known.get(name)
  const running = found ?? work()
  if (name !== undefined) known.set(name, running)
  return running
}

type Parallel = { readonly width: number; readonly stop: AbortController; readonly signal: AbortSignal }

/** Runs at most `width` jobs concurrently. The first failure stops the others; when it is thrown, all have ended. */
async function inParallel<T, R>(
  items: readonly T[],
  { width, stop, signal }: Parallel,
  work: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = []
  const waiting = items.entries()
  const run = async () => {
    for (const [index, item] of waiting) {
      if (signal.aborted) return
      results[index] = await work(item)
    }
  }
  const running = Array.from({ length: Math.min(width, items.length) }, () => run().catch((error) => stop.abort(error)))
  await Promise.all(running)
  signal.throwIfAborted()
  return results
}

function refuseCount(items: readonly MediaItem[], { maxItems }: MediaLimits): void {
  const first = items[maxItems]
  if (first !== undefined) {
    throw invalid(first.at, `is one of ${items.length} media, more than a request may have (media.maxItems, ${maxItems})`)
  }
}

function tooMuch({ at }: MediaItem, { maxTotalBytes }: MediaLimits): AppError {
  return invalid(at, `does not fit: all media of a request may have ${formatBytes(maxTotalBytes)} (media.maxTotalBytes)`)
}
