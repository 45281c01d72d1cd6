import type { ServerResponse } from 'node:http'

/** Long: a reader of 1 KB/s empties the system's buffers so slowly that Node sees nothing of it for many minutes. */
export const defaultStalledReaderMs = 1_800_000

/**
 * For a reply whose last byte is written: ends its connection when the reader takes nothing of it for so long. Node's own timer
 * of the connection, which starts anew with every piece that the reader takes; its next use sets it anew.
 */
export function dropStalledReader(raw: ServerResponse, { stalledReaderMs }: { readonly stalledReaderMs?: number }): void {
  raw.setTimeout(stalledReaderMs ?? defaultStalledReaderMs, () => raw.destroy())
}
