import type { ActivityLog } from '../../activity/activity-log.ts'
import { LoadHistory, sampleEveryMs } from '../../activity/load-history.ts'
import type { Residency } from '../../contract/residency.ts'

/** Records the server's load every ten seconds. Close it. */
export function sampleLoad(activity: ActivityLog, memory: Residency['memory']): { readonly history: LoadHistory; close(): void } {
  const read = () => ({
    ...activity.reading(),
    modelBytes: memory().usedBytes,
    processBytes: process.memoryUsage.rss(),
  })
  const history = new LoadHistory(read())
  let last = performance.now()
  const timer = setInterval(() => {
    const now = performance.now()
    history.note(read(), { atMs: Date.now(), intervalMs: now - last })
    last = now
  }, sampleEveryMs)
  timer.unref()
  return { history, close: () => clearInterval(timer) }
}
