import type { EjectionReason } from '../../../contract/attempts.ts'

/** The messages that processes with the same models exchange about servers that fail: each need not find out by itself. */
export type EjectionNews = {
  /** Announces that this process has ejected the server. */
  ejected(url: string, reason: EjectionReason): void
  /** Calls `heard` when another process has ejected a server, until the returned function is called. */
  listen(heard: (url: string, reason: EjectionReason) => void): () => void
}
