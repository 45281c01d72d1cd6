import { type Kysely, type RawBuilder, sql } from 'kysely'
import { steadyMs } from '../base/steady-ms.ts'
import {
  type KeyLimits,
  longestMinuteMs,
  minuteMs,
  type Settlement,
  type Share,
  type Usage,
  type UsageCounter,
  unused,
} from '../contract/quota.ts'
import type { Tables } from './tables.ts'

type Row = {
  readonly requests: number
  readonly tokens: number
  readonly is_stretched: number
  readonly ends_at: number
  readonly left_ms: number
}

/** The SQL that differs between databases. */
type Words = {
  /** The clock of the database is the same for all processes. */
  readonly now: () => RawBuilder<number>
  /**
   * No call waits for the disk: a database that crashes loses the usage of a moment. Applies to this statement, which is a transaction of
   * its own.
   */
  readonly withoutWaiting: RawBuilder<unknown>
}

const postgres: Words = {
  now: () => sql<number>`(extract(epoch from statement_timestamp()) * 1000)::bigint`,
  withoutWaiting: sql`set_config('synchronous_commit', 'off', true)`,
}
/** A file is on one machine, which has one clock. */
const sqlite: Words = { now: () => sql<number>`${sql.lit(Date.now())}`, withoutWaiting: sql`1` }

/**
 * Counts the usage of accounts in a row for each, which one statement checks and changes: concurrent requests of several processes cannot
 * both pass.
 */
export function createUsageCounter(db: Kysely<Tables>, kind: 'postgres' | 'sqlite'): UsageCounter {
  const words = kind === 'postgres' ? postgres : sqlite
  const firstOf = async (query: RawBuilder<Row>): Promise<Usage | undefined> => {
    const [row] = (await query.execute(db)).rows
    return row && toUsage(row)
  }
  const read = async (account: string): Promise<Usage> => {
    const now = words.now()
    const usage = await firstOf(
      sql<Row>`select ${columns(now)} from key_usage as u where u.account = ${account} and u.ends_at > ${now}`,
    )
    return usage ?? unused
  }
  return {
    read,
    take: (account, share, limits) => firstOf(taking(words, account, { share, limits })),
    settle: async (account, settlement) => (await firstOf(settling(words, account, settlement))) ?? read(account),
  }
}

/** SQLite requires the table's own name when it returns rows. */
const columns = (now: RawBuilder<number>) => sql`requests, tokens, is_stretched, ends_at, ends_at - ${now} as left_ms`

/** The present values of the columns: those of the period, or zero for the next one. */
function current(isOver: RawBuilder<boolean>, endsAt: RawBuilder<number>) {
  const column = (name: RawBuilder<number>) => sql<number>`case when ${isOver} then 0 else ${name} end`
  return {
    requests: column(sql`u.requests`),
    tokens: column(sql`u.tokens`),
    isStretched: column(sql`u.is_stretched`),
    endsAt: sql<number>`case when ${isOver} then ${endsAt} else u.ends_at end`,
  }
}

function settling({ now: clock, withoutWaiting }: Words, account: string, settlement: Settlement): RawBuilder<Row> {
  const { requests, tokens, isStretched, minute } = settlement
  const now = clock()
  const values = current(sql`u.ends_at <= ${now}`, sql`${now} + ${sql.lit(minuteMs)}`)
  const isSame = sql<boolean>`u.ends_at = ${minute} and u.ends_at > ${now}`
  const change = sql<number>`cast(${tokens} as bigint)`
  return sql<Row>`
    update key_usage as u set
      requests = ${values.requests} + case when ${isSame} then cast(${requests ?? 0} as bigint) else 0 end,
      tokens = ${values.tokens} + case when ${isSame} or ${change} > 0 then ${change} else 0 end,
      is_stretched = case when ${isSame} and ${sql.lit(isStretched ? 1 : 0)} = 1 then 0 else ${values.isStretched} end,
      ends_at = ${values.endsAt}
    where u.account = ${account} and (${isSame} or ${change} > 0)
    returning ${columns(now)}, ${withoutWaiting}`
}

type Taken = { readonly share: Share; readonly limits: KeyLimits }

function taking({ now: clock, withoutWaiting }: Words, account: string, { share, limits }: Taken): RawBuilder<Row> {
  const { requestsPerMinute, tokensPerMinute } = limits
  const now = clock()
  const isMinute = share.untilMs === undefined
  const endsAt = isMinute ? sql<number>`${now} + ${sql.lit(minuteMs)}` : sql<number>`${sql.lit(share.untilMs)}`
  const tooLate = isMinute ? sql`u.ends_at > ${now} + ${sql.lit(longestMinuteMs)}` : sql`1 = 0`
  const values = current(sql`(u.ends_at <= ${now} or ${tooLate})`, endsAt)
  const most = (used: RawBuilder<number>, more: number, limit: number | undefined) =>
    limit === undefined || more === 0 ? sql`1 = 1` : sql`${used} + ${sql.lit(more)} <= ${sql.lit(limit)}`
  return sql<Row>`
    insert into key_usage as u (account, requests, tokens, is_stretched, ends_at)
    values (${account}, ${share.requests}, ${share.tokens}, ${share.isStretched ? 1 : 0}, ${endsAt})
    on conflict (account) do update set
      requests = ${values.requests} + excluded.requests,
      tokens = ${values.tokens} + excluded.tokens,
      is_stretched = ${values.isStretched} + excluded.is_stretched,
      ends_at = ${values.endsAt}
    where ${most(values.requests, share.requests, requestsPerMinute)}
      and ${most(values.tokens, share.tokens, tokensPerMinute)}
      and (${values.isStretched}) + excluded.is_stretched <= 1
    returning ${columns(now)}, ${withoutWaiting}`
}

function toUsage({ requests, tokens, is_stretched, ends_at, left_ms }: Row): Usage {
  return { requests, tokens, isStretched: is_stretched === 1, minute: ends_at, endsAtMs: steadyMs() + left_ms }
}
