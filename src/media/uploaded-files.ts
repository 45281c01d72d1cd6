import { randomBytes } from 'node:crypto'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { KeyedQueue } from '../base/queue.ts'
import { AppError } from '../contract/errors.ts'
import type { FilePlace, FileStore, StoredFile } from '../contract/file-store.ts'
import { formatBytes } from './limits.ts'

type UploadOptions = {
  readonly place: FilePlace
  /** For one file. */
  readonly maxFileBytes: number
  /** For one file of purpose `batch`. */
  readonly maxBatchBytes: number
  /** For all files of one caller. */
  readonly maxBytes: number
  readonly maxCount: number
  /** Milliseconds of the epoch. */
  readonly wallClock?: () => number
}

const idForm = /^file-[\da-f]{32}$/
/** The remains of uploads from a dead process are deleted after this time. */
const abandonedMs = 3_600_000
const sweepMs = 600_000

/** The uploads of callers, within the room of each. */
export class UploadedFiles implements FileStore {
  readonly #options: UploadOptions
  readonly #place: FilePlace
  readonly #wallClock: () => number
  #sweptAtMs = 0
  readonly #arriving = new Map<string, number>()
  /** Two concurrent uploads of a caller could otherwise take the same last place. */
  readonly #keeping = new KeyedQueue<string>()

  constructor(options: UploadOptions) {
    this.#options = options
    this.#place = options.place
    this.#wallClock = options.wallClock ?? Date.now
  }

  async add(owner: string, file: Parameters<FileStore['add']>[1], signal: AbortSignal): Promise<StoredFile> {
    signal.throwIfAborted()
    const id = `file-${randomBytes(16).toString('hex')}`
    await this.#place.removeAbandoned(owner, this.#wallClock() - abandonedMs)
    const { maxFileBytes, maxBatchBytes } = this.#options
    const isLimited = file.isResult !== true
    const kept = isLimited ? await this.#roomOf(owner) : 0
    let sizeBytes = 0
    const count = (bytes: number) => {
      sizeBytes += bytes
      if (!isLimited) return
      const arriving = (this.#arriving.get(owner) ?? 0) + bytes
      if (arriving <= 0) this.#arriving.delete(owner)
      else this.#arriving.set(owner, arriving)
      if (sizeBytes > Math.max(maxFileBytes, maxBatchBytes)) throw tooLarge(maxFileBytes)
      if (bytes > 0 && kept + arriving > this.#options.maxBytes) throw full(this.#options)
    }
    try {
      const bytes = file.bytes instanceof Readable ? file.bytes : Readable.from(file.bytes)
      await pipeline(bytes, counter(count), (counted) => this.#place.write(owner, id, counted), { signal })
      const { filename, mediaType } = file
      const { purpose, lifetimeMs } = await file.wishes()
      // Fields may come after the file.
      const mostBytes = purpose === 'batch' ? maxBatchBytes : maxFileBytes
      if (isLimited && sizeBytes > mostBytes) throw tooLarge(mostBytes)
      const createdAtMs = this.#wallClock()
      const stored = {
        id,
        filename,
        mediaType,
        sizeBytes,
        createdAtMs,
        ...(purpose !== undefined && { purpose }),
        ...(lifetimeMs !== undefined && { expiresAtMs: createdAtMs + lifetimeMs }),
      }
      return await this.#keeping.run(owner, undefined, () => this.#keep(owner, stored, isLimited))
    } catch (error) {
      await this.#place.remove(owner, id)
      signal.throwIfAborted()
      throw error
    } finally {
      count(-sizeBytes)
    }
  }

  async list(owner: string): Promise<readonly StoredFile[]> {
    const files = await this.#kept(owner)
    return files.toSorted((one, other) => other.createdAtMs - one.createdAtMs || (one.id < other.id ? 1 : -1))
  }

  async get(owner: string, id: string): Promise<StoredFile> {
    const found = idForm.test(id) ? await this.#place.get(owner, id) : undefined
    this.#sweep()
    if (found === undefined || this.#hasExpired(found)) throw notFound(id)
    return found
  }

  async content(owner: string, id: string): Promise<AsyncIterable<Uint8Array>> {
    await this.get(owner, id)
    return this.#place.content(owner, id)
  }

  async delete(owner: string, id: string): Promise<void> {
    await this.get(owner, id)
    await this.#place.remove(owner, id)
  }

  /** Keeps an upload that has arrived, if it still fits. */
  async #keep(owner: string, stored: StoredFile, isLimited: boolean): Promise<StoredFile> {
    const { maxBytes, maxCount } = this.#options
    if (isLimited && (await this.#roomOf(owner)) + stored.sizeBytes > maxBytes) throw full(this.#options)
    await this.#place.keep(owner, stored)
    // Another process may have stored one meanwhile.
    const files = isLimited ? await this.#kept(owner) : []
    if (files.length > maxCount || sumOf(files) > maxBytes) throw full(this.#options)
    return stored
  }

  /** The bytes that a caller uses. Throws at the limit of files. */
  async #roomOf(owner: string): Promise<number> {
    const files = await this.#kept(owner)
    if (files.length >= this.#options.maxCount) throw full(this.#options)
    return sumOf(files)
  }

  async #kept(owner: string): Promise<readonly StoredFile[]> {
    this.#sweep()
    return (await this.#place.list(owner)).filter((file) => !this.#hasExpired(file))
  }

  #hasExpired({ expiresAtMs = Number.POSITIVE_INFINITY }: StoredFile): boolean {
    return expiresAtMs <= this.#wallClock()
  }

  /** Removes what has expired, of any caller, now and then; a failure shows in the next call for files. */
  #sweep(): void {
    const nowMs = this.#wallClock()
    if (nowMs - this.#sweptAtMs < sweepMs) return
    this.#sweptAtMs = nowMs
    void this.#place.removeExpired(nowMs).catch(() => undefined)
  }
}

function sumOf(files: readonly StoredFile[]): number {
  return files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
}

function counter(count: (bytes: number) => void): Transform {
  return new Transform({
    transform(piece: Uint8Array, _, done) {
      try {
        count(piece.length)
        done(null, piece)
      } catch (error) {
        done(AppError.from(error))
      }
    },
  })
}

function notFound(id: string): AppError {
  return new AppError('not-found', `there is no file '${id.slice(0, 80)}'; GET /v1/files lists yours`)
}

function tooLarge(maxFileBytes: number): AppError {
  return new AppError(
    'body-too-large',
    `the file is larger than ${formatBytes(maxFileBytes)}, the limit of the largest kind in media.maxBytes`,
  )
}

function full({ maxBytes, maxCount }: UploadOptions): AppError {
  const message = `there is no room for this file: you may keep ${maxCount} files (media.files.maxCount) of ${formatBytes(maxBytes)} together (media.files.maxBytes); delete some`
  return new AppError('request-conflict', message)
}
