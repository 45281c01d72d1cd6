import { readdir, readFile, stat, statfs } from 'node:fs/promises'
import { readText } from './measure-processes.ts'
import { insideFolder } from './sandbox.ts'

/** Processes that are inspected concurrently. */
const atOnce = 64
/** Files on tmpfs are limited by its size. */
const tmpfs = 0x01021994
const deleted = ' (deleted)\n'

/** The size of files on disk that no longer have a name. */
type DeletedUse = {
  readonly bytes: number
  /** Some files may be invisible: on their way in sockets, or in a process that hides from the server. */
  readonly isPartial: boolean
}

/** Measures deleted files that are kept alive by descriptors, mappings and running programs. One file holds at most `fileBytes`. */
export async function measureDeleted(pids: readonly number[], fileBytes: number): Promise<DeletedUse> {
  const bytesOf = new Map<number, number>()
  let isPartial = false
  const note = async (path: string) => {
    const facts = await stat(path)
    if (facts.isFile() && facts.nlink === 0 && (await statfs(path)).type !== tmpfs) bytesOf.set(facts.ino, facts.blocks * 512)
    return facts
  }
  const lookAt = async (pid: number, descriptor: string) => {
    const facts = await note(`/proc/${pid}/fd/${descriptor}`)
    if (!facts.isSocket()) return
    if (/^scm_fds:\s*[1-9]/m.test(await readFile(`/proc/${pid}/fdinfo/${descriptor}`, 'latin1'))) isPartial = true
  }
  for (const pid of pids) {
    const descriptors = await readdir(`/proc/${pid}/fd`).catch(() => undefined)
    if (descriptors === undefined) {
      // An ended process has no memory, and keeps no files.
      if (/^VmSize:/m.test(readText(`/proc/${pid}/status`))) isPartial = true
      continue
    }
    for (let first = 0; first < descriptors.length; first += atOnce)
      await Promise.allSettled(descriptors.slice(first, first + atOnce).map((descriptor) => lookAt(pid, descriptor)))
    await note(`/proc/${pid}/exe`).catch(() => undefined)
    for (const [inode, range] of deletedMappings(await readFile(`/proc/${pid}/maps`, 'latin1').catch(() => ''))) {
      if (bytesOf.has(inode)) continue
      await note(`/proc/${pid}/map_files/${range}`).catch(({ code }: NodeJS.ErrnoException) => {
        // Only root may inspect mappings.
        if (code === 'EPERM') bytesOf.set(inode, fileBytes)
      })
    }
  }
  return { bytes: [...bytesOf.values()].reduce((sum, bytes) => sum + bytes, 0), isPartial }
}

/** One mapped memory range for each file that was deleted from the session's folder. */
function deletedMappings(maps: string): ReadonlyMap<number, string> {
  const ranges = new Map<number, string>()
  for (let end = maps.indexOf(deleted); end !== -1; end = maps.indexOf(deleted, end + 1)) {
    const line = maps.slice(maps.lastIndexOf('\n', end) + 1, end)
    const [, from, to, inode] = /^0*([\da-f]+)-0*([\da-f]+) \S+ \S+ \S+ (\d+) /.exec(line) ?? []
    if (line.includes(` ${insideFolder}/`)) ranges.set(Number(inode), `${from}-${to}`)
  }
  return ranges
}
