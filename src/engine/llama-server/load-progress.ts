import { readFile, stat } from 'node:fs/promises'
import type { ServerPlan } from './server-plan.ts'

/** Below 1: memory also contains other data, and a warm-up follows the load. */
const maxProgress = 0.99

/**
 * How far a server has loaded, from 0 to below 1: the share of its files' bytes that is in its memory. llama-server reports it
 * only to its own router. Where a process's memory cannot be read (other systems than Linux), and where the weights leave it as they are
 * read (for a GPU, without mmap), it stays near 0.
 */
export async function readProgress(pid: number, fileBytes: number): Promise<number> {
  return fileBytes === 0 ? 0 : Math.min(maxProgress, (await residentBytes(pid)) / fileBytes)
}

async function residentBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'latin1').catch(() => '')
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024
}

/** The size of all files of a plan. A missing file counts as 0; the server reports it. */
export async function sizeOfFiles({ modelPath, draft, mmprojPath }: ServerPlan): Promise<number> {
  const paths = [modelPath, draft?.modelPath, mmprojPath].filter((path) => path !== undefined)
  const sizes = await Promise.all(
    paths.map((path) =>
      stat(path).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}
