import { constants } from 'node:fs'
import { type FileHandle, lstat, open, readdir } from 'node:fs/promises'
import { maxDepth, maxFiles, megabytes } from './limits.ts'

/** Names that are looked up concurrently. */
const atOnce = 64

/** The contents of a session's folder; measuring ends as soon as there is too much. */
type FolderUse = { readonly bytes: number; readonly tooMuch?: string }

/** A program may change the folder meanwhile: links are not followed, and names are looked up in open folders. */
export async function measureFolder(folder: string, diskBytes: number): Promise<FolderUse> {
  const sum = { bytes: 0, files: 0 }
  const measure = async (handle: FileHandle, depth: number): Promise<string | undefined> => {
    if (depth > maxDepth) return `made folders that are more than ${maxDepth} deep`
    const at = `/proc/self/fd/${handle.fd}`
    const names = await readdir(at, { encoding: 'buffer' })
    for (let first = 0; first < names.length; first += atOnce) {
      const paths = names.slice(first, first + atOnce).map((name) => Buffer.concat([Buffer.from(`${at}/`), name]))
      const found = await Promise.all(paths.map((path) => lstat(path).catch(() => undefined)))
      for (const [index, facts] of found.entries()) {
        if (facts === undefined) continue
        sum.files++
        sum.bytes += facts.blocks * 512
        if (sum.files > maxFiles) return `made more than ${maxFiles} files`
        if (sum.bytes > diskBytes) return `left more than ${megabytes(diskBytes)} in the session's folder`
        const what = facts.isDirectory() ? await measureBelow(paths[index] as Buffer, depth + 1) : undefined
        if (what !== undefined) return what
      }
    }
    return undefined
  }
  const measureBelow = async (path: string | Buffer, depth: number): Promise<string | undefined> => {
    const handle = await openFolder(path)
    if (handle === 'gone') return undefined
    if (handle === 'closed') return 'made a folder that cannot be read'
    try {
      return await measure(handle, depth)
    } finally {
      await handle.close()
    }
  }
  const tooMuch = await measureBelow(folder, 0)
  return { bytes: sum.bytes, ...(tooMuch !== undefined && { tooMuch }) }
}

/** Errors of opening when the path has changed meanwhile. */
const gone: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'ELOOP'])

async function openFolder(path: string | Buffer): Promise<FileHandle | 'gone' | 'closed'> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
  } catch (error) {
    return gone.has((error as NodeJS.ErrnoException).code ?? '') ? 'gone' : 'closed'
  }
}
