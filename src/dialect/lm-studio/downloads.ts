import type { AppError } from '../../contract/errors.ts'
import { encodeLmStudioError } from './errors.ts'
import type { Download } from './replies.ts'

/** A download, which its caller does not wait for. Times are milliseconds of the epoch. */
export type DownloadJob = {
  readonly id: string
  readonly startedAtMs: number
  readonly state: 'downloading' | 'completed' | 'failed'
  readonly doneBytes: number
  readonly totalBytes: number
  readonly endedAtMs?: number
  /** As its caller may see it. */
  readonly error?: AppError
}

/** A download in progress, or ended; `nowMs` is the time of the epoch. */
export function encodeDownload(
  { id, state, startedAtMs, doneBytes, totalBytes, endedAtMs, error }: DownloadJob,
  nowMs: number,
): Download {
  const seconds = ((endedAtMs ?? nowMs) - startedAtMs) / 1000
  const rate = seconds > 0 ? Math.round(doneBytes / seconds) : 0
  const isRunning = state === 'downloading'
  return {
    job_id: id,
    status: state,
    total_size_bytes: totalBytes,
    downloaded_bytes: doneBytes,
    ...(isRunning && { bytes_per_second: rate }),
    started_at: isoTime(startedAtMs),
    ...(endedAtMs !== undefined && state === 'completed' && { completed_at: isoTime(endedAtMs) }),
    ...(isRunning && rate > 0 && { estimated_completion: isoTime(nowMs + ((totalBytes - doneBytes) / rate) * 1000) }),
    ...(error !== undefined && { error: encodeLmStudioError(error).body.error }),
  }
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}
