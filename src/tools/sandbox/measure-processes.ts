import { readdirSync, readFileSync } from 'node:fs'

/** A process and its descendants. Those that end meanwhile are left out. */
export function processesBelow(pid: number): readonly number[] {
  const found = [pid]
  for (const parent of found) found.push(...childrenOf(parent))
  return found
}

/** The children of all threads: each thread has its own. */
function childrenOf(pid: number): readonly number[] {
  const children = (thread: string) => readText(`/proc/${pid}/task/${thread}/children`)
  return threadsOf(pid).flatMap((thread) => children(thread).split(' ').filter(Boolean).map(Number))
}

function threadsOf(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch {
    return []
  }
}

/** The memory that processes own or share, and the bytes that they, and their awaited children, have written to disks. */
export function measureProcesses(pids: readonly number[]): { readonly bytes: number; readonly writtenBytes: number } {
  let kilobytes = 0
  let writtenBytes = 0
  for (const pid of pids) {
    const status = readText(`/proc/${pid}/status`)
    // Page tables are memory, too: they can be large for little content.
    for (const [, amount] of status.matchAll(/^(?:RssAnon|RssShmem|VmPTE):\s+(\d+) kB$/gm)) kilobytes += Number(amount)
    const io = readText(`/proc/${pid}/io`)
    const of = (name: string) => Number(new RegExp(`^${name}: (\\d+)$`, 'm').exec(io)?.[1] ?? 0)
    writtenBytes += of('write_bytes') - of('cancelled_write_bytes')
  }
  return { bytes: kilobytes * 1024, writtenBytes }
}

/** A file of the kernel; empty if its subject has ended. */
export function readText(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}
