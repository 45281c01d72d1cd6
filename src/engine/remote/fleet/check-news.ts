import type { LoadReport } from '../servers/load-report.ts'

/** The messages that the processes of one Dragoman exchange about a model's servers, so that only one process checks each server. */
export type CheckNews = {
  /** Announces that the server has passed a check of this process, and what it said of its load. */
  passed(url: string, load?: LoadReport): void
  /** Calls `heard` when a server passes a check of another process, until the returned function is called. */
  listen(heard: (url: string, load?: LoadReport) => void): () => void
}
