import {
  type CompiledQuery,
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
import type { SqliteQuery } from './sqlite-messages.ts'

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
  readonly #connection: ClientConnection
  #free: Promise<void> = Promise.resolve()
  #release: () => void = () => undefined

  constructor(client: SqliteClient) {
    this.#client = client
    this.#connection = new ClientConnection(client)
  }

  async init(): Promise<void> {
    // The client is open already.
  }

  async acquireConnection(): Promise<ClientConnection> {
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

  async beginTransaction(connection: ClientConnection, { accessMode }: TransactionSettings): Promise<void> {
    connection.begin(accessMode === 'read only' ? 'begin' : 'begin immediate')
  }

  async commitTransaction(connection: ClientConnection): Promise<void> {
    await connection.end('commit')
  }

  async rollbackTransaction(connection: ClientConnection): Promise<void> {
    // After some failures, SQLite has rolled back already; the caller rejects with that failure.
    await connection.end('rollback').catch(() => undefined)
  }

  destroy(): Promise<void> {
    return this.#client.close()
  }
}

/** A transaction begins with its first query, which saves a message to the thread and back. */
class ClientConnection implements DatabaseConnection {
  readonly #client: SqliteClient
  #begin: SqliteQuery['begin']

  constructor(client: SqliteClient) {
    this.#client = client
  }

  /** `begin immediate` locks the file at once; a lock that is needed only later might not be granted. */
  begin(begin: NonNullable<SqliteQuery['begin']>): void {
    this.#begin = begin
  }

  async end(sql: 'commit' | 'rollback'): Promise<void> {
    const hasBegun = this.#begin === undefined
    this.#begin = undefined
    if (hasBegun) await this.#client.query({ sql, parameters: [] })
  }

  async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    const begin = this.#begin
    this.#begin = undefined
    const rows = await this.#client.query({ sql, parameters, ...(begin !== undefined && { begin }) })
    // Kysely derives the type of a row from the query.
    return { rows: rows as Row[] }
  }

  // biome-ignore lint/correctness/useYield: it never has a row
  async *streamQuery(): AsyncGenerator<never> {
    throw new Error('rows are read in pages instead')
  }
}
