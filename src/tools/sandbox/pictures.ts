import { constants } from 'node:fs'
import { lstat, open, readdir } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { AppError } from '../../contract/errors.ts'
import type { SessionPicture } from '../../contract/server-tool.ts'

const mediaTypes: Readonly<Record<string, string>> = {
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.webp': 'image/webp',
  '.bmp': 'image/bmp',
}
const maxPictureBytes = 20 * 2 ** 20
/** The most pictures that one run reports; more are of no use to a caller. */
const maxNamed = 20
/** A file name that is also one segment of a URL's path: without separators and control characters. */
const plainName = /^(?!\.)[^\p{C}/\\]{1,128}$/u

/** The media type of a name that may be shown; undefined for all others. */
export function pictureType(name: string): string | undefined {
  return plainName.test(name) ? mediaTypes[extname(name).toLowerCase()] : undefined
}

/** The state of each picture, to detect changes. */
export type Pictures = ReadonlyMap<string, string>

/** The pictures directly in a session's folder. */
export async function findPictures(folder: string): Promise<Pictures> {
  const names = (await readdir(folder)).filter((name) => pictureType(name) !== undefined).sort()
  const found = new Map<string, string>()
  for (const name of names) {
    const facts = await lstat(join(folder, name), { bigint: true }).catch(() => undefined)
    if (facts?.isFile() && facts.size > 0n) found.set(name, `${facts.ino} ${facts.size} ${facts.ctimeNs}`)
  }
  return found
}

export function changedPictures(before: Pictures, after: Pictures): readonly string[] {
  return [...after]
    .filter(([name, state]) => before.get(name) !== state)
    .map(([name]) => name)
    .slice(0, maxNamed)
}

/**
 * Reads a picture from a folder that programs may be writing to. Only a regular file at the moment of opening is read: never the target of
 * a link, a pipe or a device, or a file with a second name.
 */
export async function readPicture(folder: string, name: string): Promise<SessionPicture> {
  const mediaType = pictureType(name)
  if (mediaType === undefined) {
    throw new AppError('forbidden', `'${name}' is not shown: only pictures are (png, jpg, jpeg, gif, webp, bmp)`)
  }
  const handle = await open(join(folder, name), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    () => undefined,
  )
  if (handle === undefined) throw notFound(name)
  try {
    const facts = await handle.stat()
    if (!facts.isFile() || facts.nlink !== 1) throw notFound(name)
    if (facts.size > maxPictureBytes) {
      throw new AppError('forbidden', `'${name}' is not shown: it is larger than ${maxPictureBytes / 2 ** 20} MB`)
    }
    const bytes = Buffer.alloc(facts.size)
    const { bytesRead } = await handle.read(bytes, 0, facts.size, 0)
    return { mediaType, bytes: bytes.subarray(0, bytesRead) }
  } finally {
    await handle.close()
  }
}

function notFound(name: string): AppError {
  return new AppError('not-found', `there is no picture '${name}' in this session`)
}
