import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { KeyLimits, Settlement, Share, Usage, UsageCounter } from '../contract/quota.ts'
import type { Tables } from './tables.ts'

const minuteMs = 60_000
const unused: Usage = { requests: 0, tokens: 0, isStretched: false, minute: 0, endsAtMs: 0 }

type Row = {
  readonly requests: number
  readonly tokens: number
  readonly is_stretched: number
  readonly ends_at: number
  readonly left_ms: number
}

/** The clock of the database is the same for all processes. */
const now = sql<number>`(extract(epoch from statement_timestamp()) * 1000)::bigint`
/** The value of a column in its minute; 0 in the next one. */
const current = (column: RawBuilder<number>) => sql<number>`case when u.ends_at <= ${now} then 0 else ${column} end`
const requests = current(sql`u.requests`)
const tokens = current(sql`u.tokens`)
const isStretched = current(sql`u.is_stretched`)
const endsAt = sql<number>`case when u.ends_at <= ${now} then ${now} + ${sql.lit(minuteMs)} else u.ends_at end`
const columns = sql`u.requests, u.tokens, u.is_stretched, u.ends_at, u.ends_at - ${now} as left_ms`
/**
 * No call waits for the disk: what a database that breaks down forgets is the use of a moment. It holds for this statement, which is a
 * transaction of its own.
 */
const withoutWaiting = sql`set_config('synchronous_commit', 'off', true)`

/** Counts what keys use in a row for each, which one statement checks and changes: requests of several processes cannot pass together. */
export function createPostgresUsage(db: Kysely<Tables>): UsageCounter {
  const firstOf = async (query: RawBuilder<Row>): Promise<Usage | undefined> => {
    const [row] = (await query.execute(db)).rows
    return row && toUsage(row)
  }
  const read = async (account: string): Promise<Usage> => {
    const usage = await firstOf(
      sql<Row>`select ${columns} from key_usage as u where u.account = ${account} and u.ends_at > ${now}`,
    )
    return usage ?? unused
  }
  const settle = async (account: string, { tokens: change, isStretched: wasStretched, minute }: Settlement): Promise<Usage> => {
    const isSame = sql<boolean>`u.ends_at = ${minute} and u.ends_at > ${now}`
    const settled = await firstOf(sql<Row>`
      update key_usage as u set
        requests = ${requests},
        tokens = ${tokens} + case when ${isSame} then ${change}::bigint else greatest(0, ${change}::bigint) end,
        is_stretched = case when ${isSame} and ${wasStretched} then 0 else ${isStretched} end,
        ends_at = ${endsAt}
      where u.account = ${account} and (${isSame} or ${change}::bigint > 0)
      returning ${columns}, ${withoutWaiting}`)
    return settled ?? read(account)
  }
  return {
    read,
    take: (account, share, limits) => firstOf(taking(account, share, limits)),
    settle,
  }
}

function taking(account: string, share: Share, { requestsPerMinute, tokensPerMinute }: KeyLimits): RawBuilder<Row> {
  const stretched = share.isStretched ? 1 : 0
  const most = (used: RawBuilder<number>, more: number, limit: number | undefined) =>
    limit === undefined || more === 0 ? sql`true` : sql`${used} + ${more} <= ${limit}`
  return sql<Row>`
    insert into key_usage as u (account, requests, tokens, is_stretched, ends_at)
    values (${account}, ${share.requests}, ${share.tokens}, ${stretched}, ${now} + ${sql.lit(minuteMs)})
    on conflict (account) do update set
      requests = ${requests} + excluded.requests,
      tokens = ${tokens} + excluded.tokens,
      is_stretched = ${isStretched} + excluded.is_stretched,
      ends_at = ${endsAt}
    where ${most(requests, share.requests, requestsPerMinute)}
      and ${most(tokens, share.tokens, tokensPerMinute)}
      and (${isStretched}) + excluded.is_stretched <= 1
    returning ${columns}, ${withoutWaiting}`
}

function toUsage({ requests, tokens, is_stretched, ends_at, left_ms }: Row): Usage {
  return { requests, tokens, isStretched: is_stretched === 1, minute: ends_at, endsAtMs: Date.now() + left_ms }
}
