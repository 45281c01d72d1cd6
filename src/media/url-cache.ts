import type { MediaBytes, MediaKind } from '../contract/media.ts'

type Options = { readonly maxBytes: number; readonly ttlMs: number; now(): number }

/** What a caller fetched. Each has its own: a hit would show one caller what another has fetched. */
export type CacheKey = { readonly owner: string; readonly kind: MediaKind; readonly url: string }

/** Fetched media, until they are old or others need the room; those that were not used for the longest time go first. */
export class UrlCache {
  readonly #options: Options
  readonly #entries = new Map<string, { readonly media: MediaBytes; readonly endsAtMs: number }>()
  #sizeBytes = 0

  constructor(options: Options) {
    this.#options = options
  }

  get(key: CacheKey): MediaBytes | undefined {
    const name = nameOf(key)
    const entry = this.#entries.get(name)
    if (entry === undefined) return undefined
    this.#entries.delete(name)
    if (entry.endsAtMs <= this.#options.now()) {
      this.#sizeBytes -= entry.media.base64.length
      return undefined
    }
    this.#entries.set(name, entry)
    return entry.media
  }

  set(key: CacheKey, media: MediaBytes): void {
    const { maxBytes, ttlMs, now } = this.#options
    this.#delete(nameOf(key))
    if (media.base64.length > maxBytes || ttlMs === 0) return
    this.#entries.set(nameOf(key), { media, endsAtMs: now() + ttlMs })
    this.#sizeBytes += media.base64.length
    for (const oldest of this.#entries.keys()) {
      if (this.#sizeBytes <= maxBytes) return
      this.#delete(oldest)
    }
  }

  #delete(name: string): void {
    this.#sizeBytes -= this.#entries.get(name)?.media.base64.length ?? 0
    this.#entries.delete(name)
  }
}

function nameOf({ owner, kind, url }: CacheKey): string {
  return JSON.stringify([owner, kind, url])
}
