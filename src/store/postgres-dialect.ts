import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
  type TransactionSettings,
} from 'kysely'
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
  return {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new PoolDriver(pool, timeoutMs),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  }
}

class PoolDriver implements Driver {
  readonly #pool: Pool
  readonly #timeoutMs: number

  constructor(pool: Pool, timeoutMs: number) {
    this.#pool = pool
    this.#timeoutMs = timeoutMs
  }

  async init(): Promise<void> {
    // The first query connects.
  }

  async acquireConnection(): Promise<PooledConnection> {
    try {
      return new PooledConnection(await this.#pool.connect(), this.#timeoutMs)
    } catch (error) {
      throw toStoreError(error)
    }
  }

  async releaseConnection(connection: PooledConnection): Promise<void> {
    connection.release()
  }

  async beginTransaction(connection: DatabaseConnection, settings: TransactionSettings): Promise<void> {
    const { isolationLevel, accessMode } = settings
    const level = isolationLevel === undefined ? '' : ` isolation level ${isolationLevel}`
    await connection.executeQuery(CompiledQuery.raw(`start transaction${level} ${accessMode ?? ''}`))
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('commit'))
  }

  async rollbackTransaction(connection: PooledConnection): Promise<void> {
    // A broken connection rolls back by itself; the caller rejects with the first failure.
    if (!connection.isBroken) await connection.executeQuery(CompiledQuery.raw('rollback')).catch(() => undefined)
  }

  destroy(): Promise<void> {
    return this.#pool.end()
  }
}

class PooledConnection implements DatabaseConnection {
  readonly #client: PoolClient
  readonly #timeoutMs: number
  /** A query without an answer would also block later ones. */
  isBroken = false

  constructor(client: PoolClient, timeoutMs: number) {
    this.#client = client
    this.#timeoutMs = timeoutMs
  }

  async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    try {
      const { rows } = await this.#client.query(sql, parameters.map(withoutNul))
      return { rows }
    } catch (error) {
      const isLate = error instanceof Error && error.message === 'Query read timeout'
      this.isBroken ||= isLate
      throw toStoreError(isLate ? new Error(`it did not answer within ${this.#timeoutMs / 1000} s`) : error)
    }
  }

  // biome-ignore lint/correctness/useYield: it never has a row
  async *streamQuery(): AsyncGenerator<never> {
    throw new Error('rows are read in pages instead')
  }

  release(): void {
    this.#client.release(this.isBroken)
  }
}

/** PostgreSQL's text cannot contain NUL. JSON escapes it; an id of a caller may contain one, and then matches nothing. */
function withoutNul(parameter: unknown): unknown {
  return typeof parameter === 'string' ? parameter.replaceAll('\u0000', '\uFFFD') : parameter
}
