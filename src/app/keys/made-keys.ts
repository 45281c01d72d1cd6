import { createHash, randomInt } from 'node:crypto'
import { z } from 'zod'
import { AppError } from '../../contract/errors.ts'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const keyLength = 32
const shownHashDigits = 8

/** The permissions that a key can have. */
export const keyScopes = ['inference', 'tools', 'metrics', 'admin'] as const

export const storedKeySchema = z.object({
  hash: z.string().regex(/^[\da-f]{64}$/),
  scopes: z.array(z.enum(keyScopes)).min(1),
  name: z.string().exactOptional(),
  models: z.array(z.string()).min(1).exactOptional(),
  tools: z.array(z.string()).min(1).exactOptional(),
  requestsPerMinute: z.int().min(1).exactOptional(),
  tokensPerMinute: z.int().min(1).exactOptional(),
  toolCallsPerMinute: z.int().min(1).exactOptional(),
  tokensPerDay: z.int().min(1).exactOptional(),
  tokensPerMonth: z.int().min(1).exactOptional(),
  group: z.string().exactOptional(),
  expiresAt: z.iso.datetime().exactOptional(),
  /** Who has made it by a request; absent: a command, or the server at its start. */
  madeBy: z.string().exactOptional(),
  createdAt: z.string().exactOptional(),
  lastUsedAt: z.string().exactOptional(),
})
/** A key as it is stored: never the key itself. */
export type StoredKey = z.output<typeof storedKeySchema>

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

/** The keys that Dragoman made: their hashes, in a place that commands change while servers run. */
export abstract class MadeKeys {
  /** When keys were used, by their hashes, until it is written. */
  #uses = new Map<string, string>()

  /** All keys, the oldest first. Throws `internal` for a damaged place. */
  abstract list(): readonly StoredKey[]

  /** Looks again where `list` may be a moment behind. */
  abstract refresh(): Promise<void>

  /** `edit` is called again when another process was faster. Without a change, it returns what it got. */
  protected abstract change(edit: (keys: readonly StoredKey[]) => readonly StoredKey[]): Promise<void>

  /** Checks the file at each request, so that a key takes effect, or loses it, immediately. */
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
    await this.change((keys) =>
      keys.map((key) => {
        const lastUsedAt = uses.get(key.hash)
        return lastUsedAt === undefined ? key : { ...key, lastUsedAt }
      }),
    )
  }

  /** Makes the first key, with all scopes, if there is none. Returns it only this once. */
  async ensureKey(): Promise<string | undefined> {
    let created: string | undefined
    await this.change((keys) => {
      created = keys.length > 0 ? undefined : createApiKey()
      if (created === undefined) return keys
      return [{ hash: hashApiKey(created), scopes: [...keyScopes], createdAt: new Date().toISOString() }]
    })
    return created
  }

  /** Makes a key and returns it, only this once. `check` may throw, with the keys that there are. */
  async add(chosen: NewKey, check: (keys: readonly StoredKey[]) => void = () => undefined): Promise<string> {
    const key = createApiKey()
    await this.change((keys) => {
      check(keys)
      return [...keys, { hash: hashApiKey(key), ...chosen, createdAt: new Date().toISOString() }]
    })
    return key
  }

  /** Deletes the key with this id or name. Throws `invalid-request` when there is none, or more than one. */
  async remove(idOrName: string): Promise<StoredKey> {
    let removed: StoredKey | undefined
    await this.change((keys) => {
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
}
