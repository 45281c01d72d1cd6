import type { ServerResponse } from 'node:http'

/** Calls back once, when the connection of a reply is closed or its last byte is sent; now, if that was before. */
export function whenClosed(raw: ServerResponse, done: () => void): void {
  let isDone = false
  const once = () => {
    if (isDone) return
    isDone = true
    done()
  }
  raw.once('close', once)
  if (raw.destroyed) once()
}
