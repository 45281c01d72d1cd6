import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, mkdir, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { z } from 'zod'
import { AppError } from '../../contract/errors.ts'

/** The size and checksums that a file must have to be placed; `origin` says where a checksum comes from. */
export type Expectation = {
  readonly sizeBytes?: number | undefined
  readonly checksums: readonly { readonly sha256: string; readonly origin: string }[]
}

/** What is stored about an unfinished download, so that a later run can check that the rest fits. */
type PartInfo = { readonly url: string; readonly etag: string; readonly sizeBytes: number }

/** Enough to tell two files apart. */
const keptTailBytes = 16 * 1024

const partInfoSchema = z.object({ url: z.string(), etag: z.string(), sizeBytes: z.int().min(0) })

/**
 * The unfinished `<target>.part` of a file. Bytes are hashed as they arrive; only `place` writes the target, and it
 * verifies first. `close` keeps the bytes for a later run, `discard` does not. The caller must hold the target's lock.
 */
export class PartFile {
  readonly #target: string
  readonly #handle: FileHandle
  readonly #hash = createHash('sha256')
  #sizeBytes = 0
  #tail: Buffer = Buffer.alloc(0)

  private constructor(target: string, handle: FileHandle) {
    this.#target = target
    this.#handle = handle
  }

  static async create(target: string): Promise<PartFile> {
    await mkdir(dirname(target), { recursive: true })
    await rm(infoPath(target), { force: true })
    await rm(partPath(target), { force: true })
    return new PartFile(target, await open(partPath(target), 'a'))
  }

  /** Continues the part of an earlier run, which is read and hashed first. Throws the signal's reason. */
  static async resume(target: string, signal: AbortSignal | undefined): Promise<PartFile> {
    const part = new PartFile(target, await open(partPath(target), 'a'))
    try {
      for await (const chunk of createReadStream(partPath(target))) {
        signal?.throwIfAborted()
        part.#hash.update(chunk)
        part.#sizeBytes += chunk.length
        part.#tail = Buffer.concat([part.#tail, chunk]).subarray(-keptTailBytes)
      }
      return part
    } catch (error) {
      await part.close()
      throw error
    }
  }

  get sizeBytes(): number {
    return this.#sizeBytes
  }

  /** The last bytes of an earlier run: a continuation that repeats them shows that it belongs to the same file. */
  get tail(): Buffer {
    return this.#tail
  }

  /** Stores the facts that a later run needs to continue this part. */
  async remember(info: PartInfo): Promise<void> {
    await writeFile(infoPath(this.#target), JSON.stringify(info))
  }

  async append(chunk: Uint8Array): Promise<void> {
    this.#hash.update(chunk)
    this.#sizeBytes += chunk.length
    // A single write may be partial; writeFile on a handle repeats until all bytes are written.
    await this.#handle.writeFile(chunk)
  }

  /** Verifies the part and renames it to the target; returns its checksum. On a mismatch deletes it and throws both values. */
  async place(expectation: Expectation): Promise<string> {
    const sha256 = this.#hash.digest('hex')
    // The size on disk differs from the bytes counted if another process wrote to the same file.
    const { size } = await this.#handle.stat()
    const wrong =
      mismatch({ sizeBytes: this.#sizeBytes, sha256 }, expectation) ?? mismatch({ sizeBytes: size, sha256 }, expectation)
    if (wrong !== undefined) {
      await this.discard()
      throw new AppError('model-unavailable', `${wrong}; the download was deleted`)
    }
    await this.#handle.sync()
    await this.#handle.close()
    await rename(partPath(this.#target), this.#target)
    await rm(infoPath(this.#target), { force: true })
    return sha256
  }

  /** Idempotent. */
  async close(): Promise<void> {
    await this.#handle.close()
  }

  async discard(): Promise<void> {
    await this.#handle.close()
    await rm(infoPath(this.#target), { force: true })
    await rm(partPath(this.#target), { force: true })
  }
}

/** The unfinished download of a target, if there is one that can be continued. */
export async function findPart(target: string): Promise<(PartInfo & { readonly receivedBytes: number }) | undefined> {
  try {
    const info = partInfoSchema.parse(JSON.parse(await readFile(infoPath(target), 'utf8')))
    const { size } = await stat(partPath(target))
    return size > 0 && size < info.sizeBytes ? { ...info, receivedBytes: size } : undefined
  } catch {
    // A part without readable information cannot be continued.
    return undefined
  }
}

function mismatch(found: { sizeBytes: number; sha256: string }, { sizeBytes, checksums }: Expectation): string | undefined {
  if (sizeBytes !== undefined && sizeBytes !== found.sizeBytes) {
    return `the file has ${found.sizeBytes} bytes instead of ${sizeBytes}`
  }
  const wrong = checksums.find(({ sha256 }) => sha256 !== found.sha256)
  return wrong && `the file's SHA-256 is ${found.sha256}, but ${wrong.origin} says ${wrong.sha256}`
}

function partPath(target: string): string {
  return `${target}.part`
}

function infoPath(target: string): string {
  return `${target}.part.json`
}
