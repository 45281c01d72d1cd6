import { createHash, randomInt } from 'node:crypto'
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { z } from 'zod'
import { AppError } from '../contract/errors.ts'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const keyLength = 32

const fileSchema = z.object({ apiKeyHashes: z.array(z.string().regex(/^[\da-f]{64}$/)).min(1) })

/** A key nobody can guess: 190 random bits. */
export function createApiKey(): string {
  return `sk-dragoman-${Array.from({ length: keyLength }, () => alphabet[randomInt(alphabet.length)]).join('')}`
}

/** What we keep of a key. A plain hash is enough, because a key is random and long. */
export function hashApiKey(key: string): string {
  return createHash('sha256').update(key).digest('hex')
}

/** The hashes of the keys in the file at `path`. Makes the file with one key when there is none: that key is shown once. */
export async function ensureApiKey(path: string): Promise<{ hashes: readonly string[]; createdKey?: string }> {
  const existing = await readHashes(path)
  if (existing !== undefined) return { hashes: existing }
  const createdKey = createApiKey()
  const hashes = [hashApiKey(createdKey)]
  if (await createFile(path, `${JSON.stringify({ apiKeyHashes: hashes })}\n`)) return { hashes, createdKey }
  // Another process was faster: its key counts.
  return ensureApiKey(path)
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
    const message = `the key file '${path}' is damaged; delete it, and a new key is made at the next start`
    throw new AppError('internal', message, { cause: error })
  }
}

/** Writes a whole file or nothing; false when the file exists by now. */
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
