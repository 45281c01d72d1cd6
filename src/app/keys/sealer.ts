import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto'
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { messageOf } from '../../contract/errors.ts'
import type { SealerOf } from '../../contract/sealer.ts'
import type { SharedDocuments } from '../../contract/server/shared.ts'
import { namesWith } from '../../engine/remote/session-names.ts'

const algorithm = 'aes-256-gcm'
const keyBytes = 32
const nonceBytes = 12
const tagBytes = 16
/** Distinguishes our seals from those of other servers before anything is decrypted. */
const prefix = 'dg1.'

type SealerOptions = {
  /** The data folder. */
  readonly home: string
  /** What all servers with the store have in common; absent: nothing. */
  readonly documents?: SharedDocuments | undefined
  readonly log: Logger
  readonly env?: NodeJS.ProcessEnv
}

/**
 * Seals with a key that is made once: of all servers with the store, or else of those with the data folder. The environment variable
 * DRAGOMAN_SEAL_KEY replaces it. AES-256-GCM with the owner as associated data; a seal is `dg1.` and base64url of nonce, tag and text.
 */
export async function createSealer({ log, ...place }: SealerOptions): Promise<SealerOf> {
  try {
    return sealWith(await findKey(place))
  } catch (error) {
    log.warn(`the seal key cannot be used (${messageOf(error)}): what this server seals can be opened only until it ends`)
    return sealWith(randomBytes(keyBytes))
  }
}

/** Hashes sessions for routers, equally in all processes and on all machines that seal with the same key. */
export async function createSessionHash(place: Omit<SealerOptions, 'log'>): Promise<(text: string) => string> {
  // Without a key, session names change with a restart.
  const key = await findKey(place).catch(() => randomBytes(keyBytes))
  return namesWith(createHmac('sha256', key).update('names of sessions').digest())
}

async function findKey({ home, documents, env = process.env }: Omit<SealerOptions, 'log'>): Promise<Buffer> {
  const { DRAGOMAN_SEAL_KEY: given } = env
  if (given !== undefined && given !== '') return createHash('sha256').update(given).digest()
  const own = ensureKey(home, join(home, 'seal-key'))
  if (documents === undefined) return own
  // Where the folder cannot be written, as in some containers, the key of all is there nevertheless.
  return keyOfAll(documents, await own.catch(() => randomBytes(keyBytes)))
}

/** The first server with the store brings its own key: what it has sealed stays readable. */
async function keyOfAll(documents: SharedDocuments, own: Buffer): Promise<Buffer> {
  let shared: unknown
  await documents.change('seal-key', (json) => {
    shared = json ?? own.toString('base64')
    return shared
  })
  return toKey(String(shared), 'the document in the database')
}

/** If several processes start together, the first makes the key. */
async function ensureKey(home: string, path: string): Promise<Buffer> {
  const known = await readKey(path)
  if (known !== undefined) return known
  await mkdir(home, { recursive: true })
  const draft = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`
  try {
    await writeFile(draft, randomBytes(keyBytes).toString('base64'), { mode: 0o600, flag: 'wx' })
    await link(draft, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  } finally {
    await rm(draft, { force: true })
  }
  const made = await readKey(path)
  if (made === undefined) throw new Error('the file is gone')
  return made
}

async function readKey(path: string): Promise<Buffer | undefined> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (text === undefined) return undefined
  return toKey(text, path)
}

function toKey(base64: string, place: string): Buffer {
  const key = Buffer.from(base64, 'base64')
  if (key.length === keyBytes) return key
  throw new Error(`${place} holds ${key.length} bytes instead of ${keyBytes}: delete it`)
}

function sealWith(key: Buffer): SealerOf {
  return (owner) => ({
    seal(text) {
      const nonce = randomBytes(nonceBytes)
      const cipher = createCipheriv(algorithm, key, nonce)
      cipher.setAAD(Buffer.from(owner))
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return prefix + Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')
    },
    open(sealed) {
      if (!sealed.startsWith(prefix)) return undefined
      const bytes = Buffer.from(sealed.slice(prefix.length), 'base64url')
      if (bytes.length < nonceBytes + tagBytes) return undefined
      const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes })
      decipher.setAAD(Buffer.from(owner))
      decipher.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes))
      try {
        return Buffer.concat([decipher.update(bytes.subarray(nonceBytes + tagBytes)), decipher.final()]).toString('utf8')
      } catch {
        // Another key, another owner, or a changed text.
        return undefined
      }
    },
  })
}
