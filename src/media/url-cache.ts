import { LruMap } from '../base/lru-map.ts'
import type { MediaBytes, MediaKind } from '../contract/media.ts'

type Options = { readonly maxBytes: number; readonly ttlMs: number; now(): number }

/** The media that callers fetched. Keyed by caller: a shared entry would reveal what others fetched. */
export type CacheKey = { readonly owner: string; readonly kind: MediaKind; readonly url: string }

/** Fetched media, until they are old or others need the room; the least recently used go first. */
export class UrlCache {
  readonly #options: Options
  readonly #entries: LruMap<string, { readonly media: MediaBytes; readonly endsAtMs: number }>

  constructor(options: Options) {
    this.#options = options
    this.#entries = new LruMap({ max: options.maxBytes, sizeOf: ({ media }) => media.base64.length })
  }

  get(key: CacheKey): MediaBytes | undefined {
    const name = nameOf(key)
    const entry = this.#entries.get(name)
    if (entry === undefined || entry.endsAtMs > this.#options.now()) return entry?.media
    this.#entries.delete(name)
    return undefined
  }

  set(key: CacheKey, media: MediaBytes): void {
    const { ttlMs, now } = this.#options
    if (ttlMs > 0) this.#entries.set(nameOf(key), { media, endsAtMs: now() + ttlMs })
  }
}

function nameOf({ owner, kind, url }: CacheKey): string {
  return JSON.stringify([owner, kind, url])
}
