import type { EjectionReason } from '../../../contract/attempts.ts'
import type { LoadReport } from '../servers/load-report.ts'
import type { Pool } from './pool.ts'
import type { Silence } from './silence/silence.ts'

/** The messages that the processes of one Dragoman exchange about a model's servers, so that only one process checks each server. */
export type CheckNews = {
  /** Announces that the server has passed a check of this process, and what it said of its load. */
  passed(url: string, load?: LoadReport): void
  /** Calls `heard` when a server passes a check of another process, until the returned function is called. */
  listen(heard: (url: string, load?: LoadReport) => void): () => void
}

/** The messages that processes with the same models exchange about servers that fail: each need not find out by itself. */
export type EjectionNews = {
  /** Announces that this process has ejected the server. */
  ejected(url: string, reason: EjectionReason): void
  /** Calls `heard` when another process has ejected a server, until the returned function is called. */
  listen(heard: (url: string, reason: EjectionReason) => void): () => void
}

type Hearing = {
  readonly checkNews?: CheckNews | undefined
  readonly ejectionNews?: EjectionNews | undefined
  readonly pool: Pick<Pool, 'hearPassed' | 'hearEjected' | 'reportLoad'>
  readonly silence: Pick<Silence, 'hasGiven'>
  now(): number
}

const recentMs = 2000

/** Takes what other processes find out about the servers, until the returned function is called. A server that has just given something here is not doubted. */
export function hearOthers({ checkNews, ejectionNews, pool, silence, now }: Hearing): () => void {
  const unhearPassed = checkNews?.listen((id, load) => {
    pool.hearPassed(id, now())
    if (load !== undefined) pool.reportLoad(id, load, now())
  })
  const unhearEjected = ejectionNews?.listen((id, reason) => {
    if (!silence.hasGiven(id, now() - recentMs)) pool.hearEjected(id, reason, now())
  })
  return () => {
    unhearPassed?.()
    unhearEjected?.()
  }
}
