import { constants } from 'node:fs'
import { type FileHandle, open, realpath, stat } from 'node:fs/promises'
import { isAbsolute, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { AppError } from '../contract/errors.ts'
import { field } from '../contract/field.ts'
import type { MediaItem } from '../contract/media.ts'
import { refuseSize } from './check-bytes.ts'
import { invalid } from './invalid.ts'
import type { MediaLimits } from './limits.ts'

const pieceBytes = 1024 * 1024

/** Whether a URL names a file of this machine, as `file:` or by its absolute path. */
export function isLocal(url: string): boolean {
  return /^file:/i.test(url) || isAbsolute(url)
}

type Reading = { readonly item: MediaItem; readonly signal: AbortSignal }

/**
 * The bytes of a file below `folder`. Only a regular file is opened, and it is read only if it is still in the folder once open, so that
 * links and renames lead nowhere. A missing file and a forbidden one give the same error.
 */
export async function readLocalFile(
  url: string,
  { item, signal }: Reading,
  { folder, limits }: { readonly folder: string | undefined; readonly limits: MediaLimits },
): Promise<Buffer> {
  if (folder === undefined) throw refuseLocal(item)
  let file: FileHandle | undefined
  try {
    file = await openInside(url, folder)
  } catch (error) {
    throw notReadable(item, error)
  }
  if (file === undefined) throw notReadable(item)
  try {
    return await readAll(file, { item, signal }, limits)
  } finally {
    await file.close()
  }
}

/** The refusal of a server without a folder for callers. */
export function refuseLocal({ at, kind }: MediaItem): AppError {
  const message = `${field(...at)} is a file of the server's machine, where no folder is open to callers (media.allowedLocalPath): send the ${kind} itself`
  return new AppError('unsupported-field', message, { at })
}

function notReadable({ at }: MediaItem, cause?: unknown): AppError {
  return invalid(at, 'is not a file that may be read: it must be below the folder of media.allowedLocalPath', cause)
}

/** Undefined unless it is a regular file in the folder. */
async function openInside(url: string, folder: string): Promise<FileHandle | undefined> {
  const path = /^file:/i.test(url) ? fileURLToPath(url) : url
  const root = await realpath(folder)
  const isInside = (file: string) => file.startsWith(root.endsWith(sep) ? root : root + sep)
  const before = await realpath(path)
  if (!isInside(before) || !(await stat(before)).isFile()) return undefined
  // If a FIFO took the file's place, opening must not wait for its writer.
  const file = await open(before, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
  try {
    const opened = await file.stat()
    const after = await realpath(before)
    const there = await stat(after)
    if (opened.isFile() && isInside(after) && opened.dev === there.dev && opened.ino === there.ino) return file
  } catch (error) {
    await file.close()
    throw error
  }
  await file.close()
  return undefined
}

async function readAll(file: FileHandle, { item, signal }: Reading, limits: MediaLimits): Promise<Buffer> {
  const { size } = await file.stat()
  refuseSize(size, item, limits)
  const pieces: Buffer[] = []
  let read = 0
  for (;;) {
    signal.throwIfAborted()
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(pieceBytes), 0, pieceBytes)
    if (bytesRead === 0) return Buffer.concat(pieces, read)
    read += bytesRead
    refuseSize(read, item, limits)
    pieces.push(buffer.subarray(0, bytesRead))
  }
}
