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
const connectTimeoutMs = 10_000
const queryTimeoutMs = 60_000
/** PostgreSQL's `bigint`, which `pg` reads as text. Ours are times and sizes, which numbers hold exactly. */
const bigintType = 20

/** PostgreSQL over a pool of connections, for Kysely. Loads `pg`, which is needed only here. */
export async function createPostgresDialect(url: string): Promise<Dialect> {
  const { default: pg } = await import('pg')
  const pool = new pg.Pool({
    connectionString: url,
    application_name: 'dragoman',
    max: maxConnections,
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: queryTimeoutMs,
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
    createDriver: () => new PoolDriver(pool),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  }
}

class PoolDriver implements Driver {
  readonly #pool: Pool

  constructor(pool: Pool) {
    this.#pool = pool
  }

  async init(): Promise<void> {
    // The first query connects.
  }

  async acquireConnection(): Promise<PooledConnection> {
    try {
      return new PooledConnection(await this.#pool.connect())
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

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    // A broken connection rolls back by itself; the caller rejects with the failure that came first.
    await connection.executeQuery(CompiledQuery.raw('rollback')).catch(() => undefined)
  }

  destroy(): Promise<void> {
    return this.#pool.end()
  }
}

class PooledConnection implements DatabaseConnection {
  readonly #client: PoolClient

  constructor(client: PoolClient) {
    this.#client = client
  }

  async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    try {
      const { rows } = await this.#client.query(sql, parameters.map(withoutNul))
      return { rows }
    } catch (error) {
      throw toStoreError(error)
    }
  }

  // biome-ignore lint/correctness/useYield: it never has a row
  async *streamQuery(): AsyncGenerator<never> {
    throw new Error('rows are read in pages instead')
  }

  release(): void {
    this.#client.release()
  }
}

/** PostgreSQL's text has no NUL. JSON escapes it; an id of a caller may have one, and is then none of ours. */
function withoutNul(parameter: unknown): unknown {
  return typeof parameter === 'string' ? parameter.replaceAll('\u0000', '\uFFFD') : parameter
}
