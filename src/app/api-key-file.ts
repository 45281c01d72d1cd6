import { createHash, randomInt } from 'node:crypto'
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { z } from 'zod'
import { AppError } from '../contract/errors.ts'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const keyLength = 32

const fileSchema = z.object({ apiKeyHashes: z.array(z.string().regex(/^[\da-f]{64}$/)).min(1) })

/** A key of 190 random bits. */
function createApiKey(): string {
  return `sk-dragoman-${Array.from({ length: keyLength }, () => alphabet[randomInt(alphabet.length)]).join('')}`
}

/** The stored form of a key. A plain hash is enough, because a key is random and long. */
export function hashApiKey(key: string): string {
  return createHash('sha256').update(key).digest('hex')
}

/** Reads the hashes in the key file. If it does not exist, creates it with one new key, which is returned only this once. */
export async function ensureApiKeyFile(path: string): Promise<{ hashes: readonly string[]; createdKey?: string }> {
  const existing = await readHashes(path)
  if (existing !== undefined) return { hashes: existing }
  const createdKey = createApiKey()
  const hashes = [hashApiKey(createdKey)]
  if (await createFile(path, `${JSON.stringify({ apiKeyHashes: hashes })}\n`)) return { hashes, createdKey }
  // Another process was faster: use its key.
  return ensureApiKeyFile(path)
}

async function readHashes(path: string): Promise<readonly string[] | undefined> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined
    throw new AppError('internal', `the key file '${path}' cannot be read`, { cause: error })
  }
  try {
    return fileSchema.parse(JSON.parse(text)).apiKeyHashes
  } catch (error) {
    const message = `the key file '${path}' is damaged; delete it, and the next start creates a new key`
    throw new AppError('internal', message, { cause: error })
  }
}

/** Creates the complete file atomically; false if it already exists. */
async function createFile(path: string, text: string): Promise<boolean> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const draft = `${path}.${process.pid}.${randomInt(2 ** 32)}`
  await writeFile(draft, text, { mode: 0o600, flag: 'wx' })
  try {
    await link(draft, path)
    return true
  } catch (error) {
    if (isCode(error, 'EEXIST')) return false
    throw new AppError('internal', `the key file '${path}' cannot be written`, { cause: error })
  } finally {
    await rm(draft)
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
