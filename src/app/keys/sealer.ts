import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto'
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { messageOf } from '../../contract/errors.ts'
import type { SealerOf } from '../../contract/sealer.ts'
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
  readonly log: Logger
  readonly env?: NodeJS.ProcessEnv
}

/**
 * Seals with a key in the data folder, which is made once, or with a key of the environment variable DRAGOMAN_SEAL_KEY, for several
 * machines. AES-256-GCM with the owner as associated data; a seal is `dg1.` and base64url of nonce, tag and text.
 */
export async function createSealer({ home, log, env = process.env }: SealerOptions): Promise<SealerOf> {
  try {
    return sealWith(await findKey(home, env))
  } catch (error) {
    log.warn(
      `${join(home, 'seal-key')} cannot be used (${messageOf(error)}): what this server seals can be opened only until it ends`,
    )
    return sealWith(randomBytes(keyBytes))
  }
}

/** For servers that share a store: what one seals, such as the signature of a thinking block, another could not open. */
export function warnOfUnsharedSeals(log: Logger, env = process.env): void {
  if (sharedKey(env) !== undefined) return
  log.warn(
    'the store is shared by all servers that use it, but DRAGOMAN_SEAL_KEY is not set: what this server seals for its clients, no other ' +
      'can open, and reasoning that they bring there is left out; set it to one random text on all of them',
  )
}

/** Hashes sessions for routers, equally in all processes and on all machines that seal with the same key. */
export async function createSessionHash({
  home,
  env = process.env,
}: Omit<SealerOptions, 'log'>): Promise<(text: string) => string> {
  // Without a key, session names change with a restart.
  const key = await findKey(home, env).catch(() => randomBytes(keyBytes))
  return namesWith(createHmac('sha256', key).update('names of sessions').digest())
}

async function findKey(home: string, env: NodeJS.ProcessEnv): Promise<Buffer> {
  const given = sharedKey(env)
  return given === undefined ? ensureKey(home, join(home, 'seal-key')) : createHash('sha256').update(given).digest()
}

function sharedKey({ DRAGOMAN_SEAL_KEY: given }: NodeJS.ProcessEnv): string | undefined {
  return given === '' ? undefined : given
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
  const key = Buffer.from(text, 'base64')
  if (key.length === keyBytes) return key
  throw new Error(`it holds ${key.length} bytes instead of ${keyBytes}: delete it`)
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
