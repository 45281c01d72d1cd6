import { type Dialect, PostgresDialect, type PostgresPoolClient, type PostgresQueryResult } from 'kysely'
import type { Pool, PoolClient } from 'pg'
import { toStoreError } from './failure.ts'

const maxConnections = 10
/** How long a call waits for a connection. */
const connectTimeoutMs = 5000
/** How long a request waits for an answer, for example from a stopped database, or over a lost network. */
const requestTimeoutMs = 5000
/** The same limit for work that nobody waits for: changes of tables, and scans of all rows. */
export const upkeepTimeoutMs = 60_000
/** PostgreSQL's `bigint`, which `pg` reads as text. Ours are times and sizes, which numbers hold exactly. */
const bigintType = 20

/** PostgreSQL over a pool of connections, for Kysely. Loads `pg`, which is needed only here. */
export async function createPostgresDialect(url: string, timeoutMs = requestTimeoutMs): Promise<Dialect> {
  const { default: pg } = await import('pg')
  const pool = new pg.Pool({
    connectionString: url,
    application_name: 'dragoman',
    max: maxConnections,
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: timeoutMs,
    keepAlive: true,
    allowExitOnIdle: true,
    types: {
      getTypeParser: (type, format) => (type === bigintType ? Number : pg.types.getTypeParser(type, format)),
    },
  })
  // A broken connection fails its query, if there is one; without a listener, it would end the process as well.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', () => undefined))
  const lent = { options: pool.options, connect: () => lend(pool, timeoutMs), end: () => pool.end() }
  return new PostgresDialect({ pool: lent })
}

const rolledBack: PostgresQueryResult<never> = { command: 'ROLLBACK', rowCount: 0, rows: [] }

/** A connection whose failures are those of the store. */
async function lend(pool: Pool, timeoutMs: number): Promise<PostgresPoolClient> {
  const client: PoolClient = await pool.connect().catch((error: unknown) => {
    throw toStoreError(error)
  })
  // A query without an answer would also block later ones.
  let isBroken = false
  const query = async <Row>(sql: string, parameters: readonly unknown[]): Promise<PostgresQueryResult<Row>> => {
    const isRollback = sql === 'rollback'
    // A broken connection rolls back by itself; the caller rejects with the first failure.
    if (isBroken && isRollback) return rolledBack
    try {
      return (await client.query(sql, parameters.map(withoutNul))) as unknown as PostgresQueryResult<Row>
    } catch (error) {
      const isLate = error instanceof Error && error.message === 'Query read timeout'
      isBroken ||= isLate || isRollback
      if (isRollback) return rolledBack
      throw toStoreError(isLate ? new Error(`it did not answer within ${timeoutMs / 1000} s`) : error)
    }
  }
  // Kysely asks for cursors only where its dialect is given some.
  return { query: query as PostgresPoolClient['query'], release: (isDiscarded) => client.release(isBroken || isDiscarded) }
}

/** PostgreSQL's text cannot contain NUL. JSON escapes it; an id of a caller may contain one, and then matches nothing. */
function withoutNul(parameter: unknown): unknown {
  return typeof parameter === 'string' ? parameter.replaceAll('\u0000', '\uFFFD') : parameter
}
