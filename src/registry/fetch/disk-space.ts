import { statfs } from 'node:fs/promises'
import { AppError } from '../../contract/errors.ts'
import { formatBytes } from '../names/format-bytes.ts'

/**
 * Throws `model-unavailable` if a folder has no room for this many more bytes. A file system that does not report its room counts as free.
 */
export async function requireDiskSpace(folder: string, neededBytes: number): Promise<void> {
  const freeBytes = await statfs(folder).then(
    ({ blocks, bavail, bsize }) => (blocks === 0 ? undefined : bavail * bsize),
    () => undefined,
  )
  if (freeBytes === undefined || freeBytes >= neededBytes) return
  const message =
    `the disk has too little space: ${formatBytes(neededBytes)} (${neededBytes} bytes) are needed, and ${formatBytes(freeBytes)} ` +
    `(${freeBytes} bytes) are free in ${folder}: delete files there, set DRAGOMAN_HOME to a larger disk, or choose a smaller file`
  throw new AppError('model-unavailable', message)
}
