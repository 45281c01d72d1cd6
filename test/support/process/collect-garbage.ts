import { constants, type PerformanceEntry } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Vitest's processes start without it; contexts that are made after the flag have it. */
setFlagsFromString('--expose-gc')

/** What is left in memory afterwards is in use. */
export const collectGarbage: () => void = runInNewContext('gc')

/** Whether an entry of type `gc` is about a collection of all objects. */
export function isFullCollection(entry: PerformanceEntry): boolean {
  return (entry as { detail?: { kind?: number } }).detail?.kind === constants.NODE_PERFORMANCE_GC_MAJOR
}
