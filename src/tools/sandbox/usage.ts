import { constants, readdirSync, readFileSync } from 'node:fs'
import { type FileHandle, lstat, open, readdir, statfs } from 'node:fs/promises'
import { messageOf } from '../../contract/errors.ts'
import {
  machineDiskFloorBytes,
  machineMemoryFloorBytes,
  maxDepth,
  maxFiles,
  type SandboxLimits,
  writtenPerDisk,
} from './limits.ts'
import type { ProgramWatch } from './run-program.ts'

const everyMs = 100
/** The folder is measured again after so many times of what it took. */
const pausePerMeasurement = 3
/** Names that are looked up together. */
const atOnce = 64
const megabytes = (bytes: number) => `${Math.round(bytes / 2 ** 20)} MB`

/**
 * Watches what no limit of the system holds for several processes together: their memory, and the disk. It looks ten times a second, so
 * that a run can have a little more for a moment.
 */
export function watchUse(folder: string, { memoryBytes, diskBytes }: SandboxLimits): ProgramWatch {
  let measureAgainAtMs = 0
  const tooMuchMemory = (pid: number) => {
    const { bytes, writtenBytes } = usedBy(processesBelow(pid))
    if (bytes > memoryBytes) return `used more than ${megabytes(memoryBytes)} of memory`
    const most = writtenPerDisk * diskBytes
    if (writtenBytes > most) return `wrote more than ${megabytes(most)} to the disk`
    return availableBytes() < machineMemoryFloorBytes ? 'ran when the machine had too little memory' : undefined
  }
  const tooMuchDisk = async () => {
    const startedMs = performance.now()
    if (startedMs < measureAgainAtMs) return undefined
    const { bavail, bsize } = await statfs(folder)
    if (bavail * bsize < machineDiskFloorBytes) return 'ran when the disk was almost full'
    const found = await findTooMuch(folder, diskBytes)
    const now = performance.now()
    measureAgainAtMs = now + pausePerMeasurement * (now - startedMs)
    return found
  }
  return {
    everyMs,
    tooMuch: (pid) =>
      (pid === undefined ? undefined : tooMuchMemory(pid)) ??
      tooMuchDisk().catch((error: unknown) => `ran in a folder that cannot be measured: ${messageOf(error)}`),
  }
}

/** A process and all that it has started. What ends meanwhile is left out. */
export function processesBelow(pid: number): readonly number[] {
  const found = [pid]
  for (const parent of found) found.push(...childrenOf(parent))
  return found
}

/** Of all its threads: each has its own. */
function childrenOf(pid: number): readonly number[] {
  const children = (thread: string) => readText(`/proc/${pid}/task/${thread}/children`) ?? ''
  return threadsOf(pid).flatMap((thread) => children(thread).split(' ').filter(Boolean).map(Number))
}

function threadsOf(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch {
    return []
  }
}

function usedBy(pids: readonly number[]): { readonly bytes: number; readonly writtenBytes: number } {
  let kilobytes = 0
  let writtenBytes = 0
  for (const pid of pids) {
    const status = readText(`/proc/${pid}/status`) ?? ''
    // Tables of pages are memory, too: there can be many for little content.
    for (const [, amount] of status.matchAll(/^(?:RssAnon|RssShmem|VmPTE):\s+(\d+) kB$/gm)) kilobytes += Number(amount)
    const io = readText(`/proc/${pid}/io`) ?? ''
    const of = (name: string) => Number(new RegExp(`^${name}: (\\d+)$`, 'm').exec(io)?.[1] ?? 0)
    writtenBytes += of('write_bytes') - of('cancelled_write_bytes')
  }
  return { bytes: kilobytes * 1024, writtenBytes }
}

function availableBytes(): number {
  const [, amount] = /^MemAvailable:\s+(\d+) kB$/m.exec(readText('/proc/meminfo') ?? '') ?? []
  return amount === undefined ? Number.POSITIVE_INFINITY : Number(amount) * 1024
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return undefined
  }
}

/**
 * What there is too much of in a session's folder. A program may change it meanwhile: no link is followed, and names are looked up in
 * folders that are open.
 */
export async function findTooMuch(folder: string, diskBytes: number): Promise<string | undefined> {
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
        const what = facts.isDirectory() ? await measureFolder(paths[index] as Buffer, depth + 1) : undefined
        if (what !== undefined) return what
      }
    }
    return undefined
  }
  const measureFolder = async (path: string | Buffer, depth: number): Promise<string | undefined> => {
    const handle = await openFolder(path)
    if (handle === 'gone') return undefined
    if (handle === 'closed') return 'made a folder that cannot be read'
    try {
      return await measure(handle, depth)
    } finally {
      await handle.close()
    }
  }
  return measureFolder(folder, 0)
}

/** What opening says when something else is at a path by now. */
const gone: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'ELOOP'])

async function openFolder(path: string | Buffer): Promise<FileHandle | 'gone' | 'closed'> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
  } catch (error) {
    return gone.has((error as NodeJS.ErrnoException).code ?? '') ? 'gone' : 'closed'
  }
}
