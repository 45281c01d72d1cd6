import type { ServerResponse } from 'node:http'

/** Long, because a reader of 1 KB/s drains the system's buffers so slowly that Node sees no progress for minutes. */
export const defaultStalledReaderMs = 1_800_000

/**
 * For a completely written reply: closes its connection if the client reads nothing for this long. Uses Node's socket timer, which restarts
 * with each piece that the client reads; the next use of the connection sets it anew.
 */
export function disconnectStalledReader(raw: ServerResponse, { stalledReaderMs }: { readonly stalledReaderMs?: number }): void {
  raw.setTimeout(stalledReaderMs ?? defaultStalledReaderMs, () => raw.destroy())
}
