import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type TransactionSettings,
} from 'kysely'
import type { SqliteClient } from './sqlite-client.ts'

/** SQLite in a thread, for Kysely. */
export function createSqliteDialect(client: SqliteClient): Dialect {
  return {
    createAdapter: () => new TransactionalAdapter(),
    createDriver: () => new ClientDriver(client),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  }
}

/** Migrations run in a transaction, which also is their lock. */
class TransactionalAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true
  }
}

/** The file has one connection; who needs it waits for the one before. */
class ClientDriver implements Driver {
  readonly #client: SqliteClient
  readonly #connection: DatabaseConnection
  #free: Promise<void> = Promise.resolve()
  #release: () => void = () => undefined

  constructor(client: SqliteClient) {
    this.#client = client
    this.#connection = new ClientConnection(client)
  }

  async init(): Promise<void> {
    // The client is open already.
  }

  async acquireConnection(): Promise<DatabaseConnection> {
    const free = this.#free
    let release: () => void = () => undefined
    this.#free = new Promise((resolve) => {
      release = resolve
    })
    await free
    this.#release = release
    return this.#connection
  }

  async releaseConnection(): Promise<void> {
    this.#release()
  }

  /** One that writes locks the file at once: a lock that is needed later might not be granted. */
  async beginTransaction(connection: DatabaseConnection, { accessMode }: TransactionSettings): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw(accessMode === 'read only' ? 'begin' : 'begin immediate'))
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('commit'))
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    // After some failures, SQLite has rolled back already; the caller rejects with that failure.
    await connection.executeQuery(CompiledQuery.raw('rollback')).catch(() => undefined)
  }

  destroy(): Promise<void> {
    return this.#client.close()
  }
}

class ClientConnection implements DatabaseConnection {
  readonly #client: SqliteClient

  constructor(client: SqliteClient) {
    this.#client = client
  }

  async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    const rows = await this.#client.query(sql, parameters)
    // Kysely derives the type of a row from the query.
    return { rows: rows as Row[] }
  }

  // biome-ignore lint/correctness/useYield: it never has a row
  async *streamQuery(): AsyncGenerator<never> {
    throw new Error('rows are read in pages instead')
  }
}
