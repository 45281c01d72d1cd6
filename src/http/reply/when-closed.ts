import type { ServerResponse } from 'node:http'

/** Calls back once, when the connection of a reply is closed or its last byte is sent; immediately, if that has already happened. */
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

/** Resolves when the reader has caught up or disconnected; undefined without back-pressure. */
export function readerDrained(raw: ServerResponse): Promise<void> | undefined {
  if (!raw.writableNeedDrain || raw.destroyed) return undefined
  return new Promise((resolve) => {
    const done = () => {
      raw.off('drain', done)
      raw.off('close', done)
      resolve()
    }
    raw.on('drain', done)
    raw.on('close', done)
  })
}
