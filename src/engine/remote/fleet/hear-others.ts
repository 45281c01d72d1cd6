import type { CheckNews } from './check-news.ts'
import type { EjectionNews } from './ejection-news.ts'
import type { Pool } from './pool.ts'
import type { Silence } from './silence/silence.ts'

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
