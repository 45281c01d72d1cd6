import { execFile } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { AppError, messageOf } from '../../contract/errors.ts'

/** Windows has one that reads .zip, which one of another program before it on PATH may not. */
const tar = process.platform === 'win32' ? join(process.env.SystemRoot ?? 'C:\\Windows', 'System32', 'tar.exe') : 'tar'

/** Unpacks a .tar.gz, or on Windows a .zip, with the system's `tar`. Throws `model-unavailable` with its reason, or the signal's. */
export async function unpack(archive: string, folder: string, signal?: AbortSignal): Promise<void> {
  try {
    await promisify(execFile)(tar, ['-xf', archive, '-C', folder], { signal })
  } catch (error) {
    signal?.throwIfAborted()
    throw new AppError('model-unavailable', `${archive} cannot be unpacked: ${reasonOf(error)}`, { cause: error })
  }
}

const deepest = 3

/** The path of a program in an unpacked folder, as archives differ in their folders. */
export async function findUnpacked(folder: string, name: string, depth = 0): Promise<string | undefined> {
  const entries = await readdir(folder, { withFileTypes: true })
  if (entries.some((entry) => entry.name === name && entry.isFile())) return join(folder, name)
  for (const entry of entries) {
    const found =
      entry.isDirectory() && depth < deepest ? await findUnpacked(join(folder, entry.name), name, depth + 1) : undefined
    if (found !== undefined) return found
  }
  return undefined
}

/** Why a program failed: what it wrote last, or why it did not start. */
export function reasonOf(error: unknown): string {
  const { stderr = '' } = error as { readonly stderr?: string }
  return stderr.trim().split('\n').slice(-3).join(' ') || messageOf(error)
}
