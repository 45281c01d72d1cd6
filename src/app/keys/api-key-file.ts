import { randomInt } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { mkdir, open, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { z } from 'zod'
import { AppError, isDiskFull } from '../../contract/errors.ts'
import { withFileLock } from '../../registry/fetch/file-lock.ts'
import { keyScopes, MadeKeys, type StoredKey, storedKeySchema } from './made-keys.ts'

const lockPollMs = 20

const fileSchema = z.object({ keys: z.array(storedKeySchema) })
/** The format of earlier versions: only hashes, of keys that may do everything. */
const oldFileSchema = z.object({ apiKeyHashes: z.array(storedKeySchema.shape.hash).min(1) })

/** The made keys in a file, which is complete at any moment; on a full disk, except while a deleted key is removed from it. */
export class ApiKeyFile extends MadeKeys {
  readonly #path: string
  #keys: readonly StoredKey[] = []
  /** The file's state when it was read. */
  #stamp: string | undefined

  constructor(path: string) {
    super()
    this.#path = path
  }

  override list(): readonly StoredKey[] {
    const stamp = this.#readStamp()
    if (stamp === this.#stamp) return this.#keys
    this.#keys = stamp === undefined ? [] : parseKeys(this.#path)
    this.#stamp = stamp
    return this.#keys
  }

  override async refresh(): Promise<void> {
    // Each lookup reads the file's state.
  }

  protected override async change(edit: (keys: readonly StoredKey[]) => readonly StoredKey[]): Promise<void> {
    await mkdir(dirname(this.#path), { recursive: true, mode: 0o700 })
    await withFileLock(`${this.#path}.lock`, { pollMs: lockPollMs }, async () => {
      const keys = this.list()
      const changed = edit(keys)
      if (changed === keys) return
      const text = `${JSON.stringify({ keys: changed }, null, 2)}\n`
      const draft = `${this.#path}.${process.pid}.${randomInt(2 ** 32)}`
      try {
        await writeFile(draft, text, { mode: 0o600, flag: 'wx' })
        await rename(draft, this.#path)
      } catch (error) {
        await rm(draft, { force: true })
        const isFull = isDiskFull(error)
        // A stolen key must be deleted even without room for a new file.
        if (isFull && changed.length < keys.length && (await overwrite(this.#path, text))) return
        if (isFull) throw AppError.from(error)
        throw new AppError('internal', `the key file '${this.#path}' cannot be written`, { cause: error })
      }
    })
  }

  /** Undefined if the file does not exist. */
  #readStamp(): string | undefined {
    const stats = statSync(this.#path, { throwIfNoEntry: false })
    return stats === undefined ? undefined : `${stats.ino} ${stats.mtimeMs} ${stats.size}`
  }
}

/** Overwrites a text that is at least as long, which takes no room; false for a shorter one. */
async function overwrite(path: string, text: string): Promise<boolean> {
  const file = await open(path, 'r+')
  try {
    const { size } = await file.stat()
    const bytes = Buffer.from(text)
    if (bytes.length > size) return false
    // In one call, leaving no end of the old text behind it: JSON may end with spaces.
    await file.writeFile(Buffer.concat([bytes, Buffer.alloc(size - bytes.length, ' ')]))
    return true
  } finally {
    await file.close()
  }
}

function parseKeys(path: string): readonly StoredKey[] {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw new AppError('internal', `the key file '${path}' cannot be read`, { cause: error })
  }
  try {
    const raw: unknown = JSON.parse(text)
    const old = oldFileSchema.safeParse(raw)
    if (old.success) return old.data.apiKeyHashes.map((hash) => ({ hash, scopes: [...keyScopes] }))
    return fileSchema.parse(raw).keys
  } catch (error) {
    const message = `the key file '${path}' is damaged; delete it, and make a new key with \`dragoman keys new\``
    throw new AppError('internal', message, { cause: error })
  }
}
