import { readdirSync, readFileSync } from 'node:fs'

/** The processor time of a process with all that it has started, as the scheduler of Linux counts it for each thread. */
export function cpuMs(pid: number): number {
  const tasks = readdirSync(`/proc/${pid}/task`)
  const own = tasks.reduce((sum, task) => sum + Number(read(`/proc/${pid}/task/${task}/schedstat`).split(' ')[0]) / 1e6, 0)
  const children = tasks.flatMap((task) => read(`/proc/${pid}/task/${task}/children`).split(' ').filter(Boolean))
  return children.reduce((sum, child) => sum + cpuMs(Number(child)), own)
}

/** Nothing of a thread that has ended meanwhile. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return ''
  }
}
