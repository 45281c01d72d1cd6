import { createHash, randomInt } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { z } from 'zod'
import { AppError } from '../../contract/errors.ts'
import { withFileLock } from '../../registry/fetch/file-lock.ts'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const keyLength = 32
const shownHashDigits = 8
const lockPollMs = 20

/** The permissions that a key can have. */
export const keyScopes = ['inference', 'tools', 'metrics', 'admin'] as const

const storedKeySchema = z.object({
  hash: z.string().regex(/^[\da-f]{64}$/),
  scopes: z.array(z.enum(keyScopes)).min(1),
  name: z.string().exactOptional(),
  models: z.array(z.string()).min(1).exactOptional(),
  tools: z.array(z.string()).min(1).exactOptional(),
  requestsPerMinute: z.int().min(1).exactOptional(),
  tokensPerMinute: z.int().min(1).exactOptional(),
  toolCallsPerMinute: z.int().min(1).exactOptional(),
  expiresAt: z.iso.datetime().exactOptional(),
  /** Who has made it by a request; absent: a command, or the server at its start. */
  madeBy: z.string().exactOptional(),
  createdAt: z.string().exactOptional(),
  lastUsedAt: z.string().exactOptional(),
})
const fileSchema = z.object({ keys: z.array(storedKeySchema) })
/** What earlier versions wrote: hashes alone, of keys that may do everything. */
const oldFileSchema = z.object({ apiKeyHashes: z.array(storedKeySchema.shape.hash).min(1) })

/** A key as it is stored: never the key itself. */
export type StoredKey = z.output<typeof storedKeySchema>

/** What is chosen about a new key. */
export type NewKey = Omit<StoredKey, 'hash' | 'createdAt' | 'lastUsedAt'>

/** A key of 190 random bits. */
function createApiKey(): string {
  return `sk-dragoman-${Array.from({ length: keyLength }, () => alphabet[randomInt(alphabet.length)]).join('')}`
}

/** The stored form of a key. A plain hash is enough, because a key is random and long. */
export function hashApiKey(key: string): string {
  return createHash('sha256').update(key).digest('hex')
}

/** The name of a key for people; the key cannot be derived from it. */
export function keyId({ hash }: Pick<StoredKey, 'hash'>): string {
  return hash.slice(0, shownHashDigits)
}

/** The file with the hashes of the keys that Dragoman made. Commands change it while servers run. */
export class ApiKeyFile {
  readonly #path: string
  #keys: readonly StoredKey[] = []
  /** The file's state when it was read. */
  #stamp: string | undefined
  /** When keys were used, by their hashes, until it is written. */
  #uses = new Map<string, string>()

  constructor(path: string) {
    this.#path = path
  }

  /** All keys, the oldest first. Throws `internal` for a damaged file. */
  list(): readonly StoredKey[] {
    const stamp = this.#readStamp()
    if (stamp === this.#stamp) return this.#keys
    this.#keys = stamp === undefined ? [] : parseKeys(this.#path)
    this.#stamp = stamp
    return this.#keys
  }

  /** Looks at the file for each request, so that a key works, or stops to work, at once. */
  find(hash: string): StoredKey | undefined {
    return this.list().find((key) => key.hash === hash)
  }

  /** Notes that a key is used, without writing it. */
  noteUse(hash: string): void {
    this.#uses.set(hash, new Date().toISOString())
  }

  /** Writes when keys were used; keys that were deleted meanwhile stay deleted. */
  async writeUses(): Promise<void> {
    if (this.#uses.size === 0) return
    const uses = this.#uses
    this.#uses = new Map()
    await this.#change((keys) =>
      keys.map((key) => {
        const lastUsedAt = uses.get(key.hash)
        return lastUsedAt === undefined ? key : { ...key, lastUsedAt }
      }),
    )
  }

  /** Makes the first key, with all scopes, if there is none. Returns it only this once. */
  async ensureKey(): Promise<string | undefined> {
    let created: string | undefined
    await this.#change((keys) => {
      if (keys.length > 0) return keys
      created = createApiKey()
      return [{ hash: hashApiKey(created), scopes: [...keyScopes], createdAt: new Date().toISOString() }]
    })
    return created
  }

  /** Makes a key and returns it, only this once. */
  async add(chosen: NewKey): Promise<string> {
    const key = createApiKey()
    await this.#change((keys) => [...keys, { hash: hashApiKey(key), ...chosen, createdAt: new Date().toISOString() }])
    return key
  }

  /** Deletes the key with this id or name. Throws `invalid-request` when there is none, or more than one. */
  async remove(idOrName: string): Promise<StoredKey> {
    let removed: StoredKey | undefined
    await this.#change((keys) => {
      const [found, ...others] = keys.filter((key) => keyId(key) === idOrName || key.name === idOrName)
      const known = keys.map((key) => (key.name === undefined ? keyId(key) : `${keyId(key)} (${key.name})`)).join(', ')
      if (found === undefined)
        throw new AppError('invalid-request', `there is no key '${idOrName}'; there are: ${known || 'none'}`)
      if (others.length > 0)
        throw new AppError('invalid-request', `more than one key is called '${idOrName}'; give its id: ${known}`)
      removed = found
      return keys.filter((key) => key !== found)
    })
    return removed as StoredKey
  }

  /** One change at a time, also among processes; the file is complete at any moment. */
  async #change(edit: (keys: readonly StoredKey[]) => readonly StoredKey[]): Promise<void> {
    await mkdir(dirname(this.#path), { recursive: true, mode: 0o700 })
    await withFileLock(`${this.#path}.lock`, { pollMs: lockPollMs }, async () => {
      const keys = this.list()
      const changed = edit(keys)
      if (changed === keys) return
      const draft = `${this.#path}.${process.pid}.${randomInt(2 ** 32)}`
      try {
        await writeFile(draft, `${JSON.stringify({ keys: changed }, null, 2)}\n`, { mode: 0o600, flag: 'wx' })
        await rename(draft, this.#path)
      } catch (error) {
        await rm(draft, { force: true })
        throw new AppError('internal', `the key file '${this.#path}' cannot be written`, { cause: error })
      }
    })
  }

  /** Undefined when there is no file. */
  #readStamp(): string | undefined {
    const stats = statSync(this.#path, { throwIfNoEntry: false })
    return stats === undefined ? undefined : `${stats.ino} ${stats.mtimeMs} ${stats.size}`
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
