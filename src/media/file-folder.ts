import { hash, randomBytes } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { AppError } from '../contract/errors.ts'
import type { FileStore, StoredFile } from '../contract/file-store.ts'
import { formatBytes } from './limits.ts'

export type FileFolderOptions = {
  readonly folder: string
  /** Of one file. */
  readonly maxFileBytes: number
  /** Of all files of one caller. */
  readonly maxBytes: number
  readonly maxCount: number
}

const idForm = /^file-[\da-f]{32}$/
/** What is left of uploads when a process dies is deleted after this time. */
const abandonedMs = 3_600_000

/**
 * Keeps files in a folder that only its user can read: of each caller a folder, and of each file its bytes and a JSON file that is written
 * last. Processes can share it.
 */
export class FileFolder implements FileStore {
  readonly #options: FileFolderOptions
  /** The bytes of uploads that are under way, by caller. */
  readonly #arriving = new Map<string, number>()
  /** The end of the last upload that is kept, by caller: two at once would both find the last place. */
  readonly #keeping = new Map<string, Promise<unknown>>()

  constructor(options: FileFolderOptions) {
    this.#options = options
  }

  async add(owner: string, file: Parameters<FileStore['add']>[1], signal: AbortSignal): Promise<StoredFile> {
    signal.throwIfAborted()
    const folder = this.#folderOf(owner)
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const id = `file-${randomBytes(16).toString('hex')}`
    const path = join(folder, id)
    const kept = await this.#roomOf(owner)
    let sizeBytes = 0
    const count = (bytes: number) => {
      sizeBytes += bytes
      const arriving = (this.#arriving.get(owner) ?? 0) + bytes
      if (arriving <= 0) this.#arriving.delete(owner)
      else this.#arriving.set(owner, arriving)
      if (sizeBytes > this.#options.maxFileBytes) throw tooLarge(this.#options.maxFileBytes)
      if (bytes > 0 && kept + arriving > this.#options.maxBytes) throw full(this.#options)
    }
    try {
      const bytes = file.bytes instanceof Readable ? file.bytes : Readable.from(file.bytes)
      await pipeline(bytes, counter(count), createWriteStream(`${path}.part`, { mode: 0o600, flags: 'wx' }), { signal })
      const { filename, mediaType } = file
      const purpose = await file.purposeOf()
      const stored = { id, filename, mediaType, sizeBytes, ...(purpose !== undefined && { purpose }) }
      return await this.#afterOthers(owner, () => this.#keep(owner, path, stored))
    } catch (error) {
      const names = [`${path}.part`, path, `${path}.json.part`, `${path}.json`]
      await Promise.all(names.map((name) => rm(name, { force: true })))
      signal.throwIfAborted()
      throw error
    } finally {
      count(-sizeBytes)
    }
  }

  /** Runs after what the same caller keeps now. */
  async #afterOthers<T>(owner: string, work: () => Promise<T>): Promise<T> {
    const done = (this.#keeping.get(owner) ?? Promise.resolve()).then(work)
    const settled = done.catch(() => undefined)
    this.#keeping.set(owner, settled)
    try {
      return await done
    } finally {
      if (this.#keeping.get(owner) === settled) this.#keeping.delete(owner)
    }
  }

  /** Keeps an upload that has arrived, if there is still room. */
  async #keep(owner: string, path: string, arrived: Omit<StoredFile, 'createdAtMs'>): Promise<StoredFile> {
    const { maxBytes, maxCount } = this.#options
    if ((await this.#roomOf(owner)) + arrived.sizeBytes > maxBytes) throw full(this.#options)
    const stored = { ...arrived, createdAtMs: Date.now() }
    await rename(`${path}.part`, path)
    await writeFile(`${path}.json.part`, JSON.stringify(stored), { mode: 0o600, flag: 'wx' })
    await rename(`${path}.json.part`, `${path}.json`)
    // Another process may have kept one meanwhile.
    const files = await this.list(owner)
    if (files.length > maxCount || sumOf(files) > maxBytes) throw full(this.#options)
    return stored
  }

  async list(owner: string): Promise<readonly StoredFile[]> {
    const names = await readdir(this.#folderOf(owner)).catch(() => [])
    const ids = names.filter((name) => name.endsWith('.json')).map((name) => name.slice(0, -'.json'.length))
    const files = await Promise.all(ids.map((id) => this.get(owner, id).catch(() => undefined)))
    return files
      .filter((file) => file !== undefined)
      .sort((one, other) => other.createdAtMs - one.createdAtMs || (one.id < other.id ? 1 : -1))
  }

  async get(owner: string, id: string): Promise<StoredFile> {
    if (!idForm.test(id)) throw notFound(id)
    const text = await readFile(join(this.#folderOf(owner), `${id}.json`), 'utf8').catch(() => undefined)
    if (text === undefined) throw notFound(id)
    return JSON.parse(text) as StoredFile
  }

  async content(owner: string, id: string): Promise<AsyncIterable<Uint8Array>> {
    await this.get(owner, id)
    return createReadStream(join(this.#folderOf(owner), id))
  }

  async delete(owner: string, id: string): Promise<void> {
    await this.get(owner, id)
    const path = join(this.#folderOf(owner), id)
    await rm(`${path}.json`, { force: true })
    await rm(path, { force: true })
  }

  /** The bytes that a caller has. Throws where there are as many files as there may be. */
  async #roomOf(owner: string): Promise<number> {
    await this.#deleteAbandoned(owner)
    const files = await this.list(owner)
    if (files.length >= this.#options.maxCount) throw full(this.#options)
    return sumOf(files)
  }

  async #deleteAbandoned(owner: string): Promise<void> {
    const folder = this.#folderOf(owner)
    const names = new Set(await readdir(folder))
    const isWhole = (name: string) => name.endsWith('.json') || names.has(`${name}.json`)
    for (const name of names) {
      if (isWhole(name)) continue
      const found = await stat(join(folder, name)).catch(() => undefined)
      if (found !== undefined && found.mtimeMs < Date.now() - abandonedMs) await rm(join(folder, name), { force: true })
    }
  }

  /** The name of a caller can be any text. */
  #folderOf(owner: string): string {
    return join(this.#options.folder, hash('sha256', owner).slice(0, 32))
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

function full({ maxBytes, maxCount }: FileFolderOptions): AppError {
  const message = `there is no room for this file: you may keep ${maxCount} files (media.files.maxCount) of ${formatBytes(maxBytes)} together (media.files.maxBytes); delete some`
  return new AppError('request-conflict', message)
}
