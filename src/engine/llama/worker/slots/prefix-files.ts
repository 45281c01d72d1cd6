import { randomUUID } from 'node:crypto'
import { readSync } from 'node:fs'
import { mkdir, open, readdir, rename, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { crc32 } from 'node:zlib'
import { readCheckpointLengths } from '../../binding/checkpoint-file.ts'
import { readSequenceTokens } from '../../binding/sequence-file.ts'
import type { StoredPrefix } from './prefix-rules.ts'

/** A sequence on disk. Its name contains its checksum: a crash of the machine can leave a file of the right size without its contents. */
export type PrefixFile = StoredPrefix & { readonly tier: 'disk'; readonly path: string; usedAtMs: number }

/** Takes 0.05 ms to read and sum if the system has it in memory (measured). */
const chunkBytes = 1 << 18
const unfinished = '.tmp'

/** The prefix files of a folder. Deletes files that do not belong here or are damaged: leftovers of a killed process. */
export async function listPrefixes(folder: string): Promise<PrefixFile[]> {
  const found: PrefixFile[] = []
  for (const name of await readdir(folder)) {
    const path = join(folder, name)
    const prefix = name.endsWith(unfinished) ? undefined : await describe(path, name).catch(() => undefined)
    if (prefix === undefined) await rm(path, { recursive: true, force: true })
    else found.push(prefix)
  }
  return found
}

export type NewPrefix = Pick<PrefixFile, 'owner' | 'usedAtMs'> & { readonly write: (path: string) => Promise<unknown> }

/** Lets `write` write a new file of this owner, readable only by the user of this process. It appears complete or not at all. */
export async function addPrefix(folder: string, { owner, usedAtMs, write }: NewPrefix): Promise<PrefixFile> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const name = `${owner}-${randomUUID().slice(0, 8)}`
  const temporary = join(folder, `${name}${unfinished}`)
  try {
    await (await open(temporary, 'wx', 0o600)).close()
    await write(temporary)
    const finished = `${name}-${await checksum(temporary)}`
    const path = join(folder, finished)
    await rename(temporary, path)
    await utimes(path, usedAtMs / 1000, usedAtMs / 1000)
    return await describe(path, finished)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

/** Rejects unless the file is as it was written. Marks it as used. */
export async function checkPrefix(prefix: PrefixFile): Promise<void> {
  if ((await checksum(prefix.path)) !== prefix.path.split('-').at(-1)) throw new Error('its checksum is wrong')
  const now = new Date()
  prefix.usedAtMs = now.getTime()
  await utimes(prefix.path, now, now)
}

async function describe(path: string, name: string): Promise<PrefixFile> {
  const [owner = ''] = name.split('-')
  const { size, mtimeMs } = await stat(path)
  const file = await open(path)
  try {
    const checkpoints = await readCheckpointLengths(file)
    const prefix = {
      tier: 'disk' as const,
      path,
      owner,
      sizeBytes: size,
      usedAtMs: mtimeMs,
      tokens: await readSequenceTokens(file),
    }
    return checkpoints === undefined ? prefix : { ...prefix, checkpoints }
  } finally {
    await file.close()
  }
}

/**
 * Read in this thread, in chunks: with few cores, libuv's pool has one thread, which computes passes, and each read of a pool would wait
 * for a pass to end (beside a stream, the first token of a restored prefix came after 155 ms instead of 62).
 */
async function checksum(path: string): Promise<string> {
  const file = await open(path)
  try {
    const chunk = Buffer.allocUnsafe(chunkBytes)
    let sum = 0
    for (;;) {
      const bytesRead = readSync(file.fd, chunk)
      if (bytesRead === 0) return sum.toString(16).padStart(8, '0')
      sum = crc32(chunk.subarray(0, bytesRead), sum)
      await turn()
    }
  } finally {
    await file.close()
  }
}
