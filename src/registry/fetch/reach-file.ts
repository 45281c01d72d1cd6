import { createWatchdog, requestFile } from './file-request.ts'

const responseTimeoutMs = 10_000

/** Rejects with `model-unavailable` unless a server offers this file; does not read its bytes. */
export async function reachFile(url: string, signal: AbortSignal): Promise<void> {
  const watchdog = createWatchdog(signal)
  try {
    await requestFile({ url, responseTimeoutMs }, watchdog)
  } finally {
    watchdog.end()
  }
}
