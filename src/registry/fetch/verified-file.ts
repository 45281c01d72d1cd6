import { createHash } from 'node:crypto'
import { createReadStream, type Stats } from 'node:fs'
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { z } from 'zod'

/** A checksum, and the size and time of its file: while these are unchanged, the checksum is taken to hold. */
const recordSchema = z.object({ sha256: z.string(), sizeBytes: z.number(), mtimeMs: z.number() })

type FileOptions = {
  /** The file that stores the checksum, so that a start does not hash gigabytes. */
  readonly record: string
  /** The expected checksum; absent: the recorded one. */
  readonly sha256?: string | undefined
  readonly signal?: AbortSignal | undefined
  /** Called while the file is hashed. */
  readonly onVerify?: ((progress: { readonly receivedBytes: number; readonly totalBytes: number }) => void) | undefined
}

/** Whether a file exists and has the expected checksum; false if none is known. `found`: its checksum, if it was computed. */
export async function checkFile(
  file: string,
  { record, sha256, signal, onVerify }: FileOptions,
): Promise<{ isGood: boolean; found?: string }> {
  const stats = await stat(file).catch(() => undefined)
  if (stats?.isFile() !== true) return { isGood: false }
  const known = await readRecord(record)
  const wanted = sha256 ?? known?.sha256
  if (wanted === undefined) return { isGood: false }
  if (known !== undefined && known.sizeBytes === stats.size && known.mtimeMs === stats.mtimeMs) {
    return { isGood: known.sha256 === wanted, found: known.sha256 }
  }
  const found = await hashFile(file, signal, (receivedBytes) => onVerify?.({ receivedBytes, totalBytes: stats.size }))
  if (found === wanted) await recordChecksum(file, { record, sha256: found })
  return { isGood: found === wanted, found }
}

/** Stores the checksum of a file that was just verified. */
export async function recordChecksum(file: string, { record, sha256 }: { record: string; sha256: string }): Promise<void> {
  const { size, mtimeMs } = await stat(file)
  await mkdir(dirname(record), { recursive: true })
  await writeFile(record, JSON.stringify({ sha256, sizeBytes: size, mtimeMs }))
}

/** The recorded checksum of a file that has not changed since; nothing is hashed. */
export async function recordedChecksum(
  record: string,
  { size, mtimeMs }: Pick<Stats, 'size' | 'mtimeMs'>,
): Promise<string | undefined> {
  const known = await readRecord(record)
  return known?.sizeBytes === size && known.mtimeMs === mtimeMs ? known.sha256 : undefined
}

async function readRecord(record: string): Promise<z.output<typeof recordSchema> | undefined> {
  try {
    return recordSchema.parse(JSON.parse(await readFile(record, 'utf8')))
  } catch {
    // Without a readable record the file is hashed, which is slow but correct.
    return undefined
  }
}

async function hashFile(file: string, signal: AbortSignal | undefined, onBytes: (count: number) => void): Promise<string> {
  const hash = createHash('sha256')
  let count = 0
  for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20 })) {
    signal?.throwIfAborted()
    hash.update(chunk)
    count += chunk.length
    onBytes(count)
  }
  return hash.digest('hex')
}
