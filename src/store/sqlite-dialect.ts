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
import { Queue } from '../base/queue.ts'
import type { SqliteClient } from './sqlite-client.ts'

/** The file, opened twice: in WAL mode, readers never wait for writers, in any process. */
type SqliteClients = { readonly reads: SqliteClient; readonly writes: SqliteClient }

/** SQLite in threads, for Kysely. */
export function createSqliteDialect(clients: SqliteClients): Dialect {
  return {
    createAdapter: () => new TransactionalAdapter(),
    createDriver: () => new ClientDriver(clients),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  }
}

/** Migrations run in a transaction, which is also their lock. */
class TransactionalAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true
  }

  /** Lanes make callers take turns only where necessary. */
  override get supportsMultipleConnections(): boolean {
    return true
  }
}

/** A client that one connection uses at a time. */
type Lane = { readonly client: SqliteClient; readonly queue: Queue }

type Lanes = { readonly reads: Lane; readonly writes: Lane }

class ClientDriver implements Driver {
  readonly #lanes: Lanes

  constructor({ reads, writes }: SqliteClients) {
    this.#lanes = {
      reads: { client: reads, queue: new Queue() },
      writes: { client: writes, queue: new Queue() },
    }
  }

  async init(): Promise<void> {
    // The clients are open already.
  }

  async acquireConnection(): Promise<ClientConnection> {
    return new ClientConnection(this.#lanes)
  }

  async releaseConnection(): Promise<void> {
    // Each query, or transaction, has freed its lane.
  }

  async beginTransaction(connection: ClientConnection, { accessMode }: TransactionSettings): Promise<void> {
    connection.begin(accessMode === 'read only' ? 'reads' : 'writes')
  }

  async commitTransaction(connection: ClientConnection): Promise<void> {
    await connection.end('commit')
  }

  async rollbackTransaction(connection: ClientConnection): Promise<void> {
    await connection.end('rollback')
  }

  async destroy(): Promise<void> {
    const { reads, writes } = this.#lanes
    // The last one to close tidies the file up.
    await reads.client.close()
    await writes.client.close()
  }
}

/** `begin immediate` locks the file from the start; a lock requested later might be refused. */
const begins = { reads: 'begin', writes: 'begin immediate' } as const

/** A query or a transaction. A transaction begins with its first query, which saves a message to the thread and back. */
class ClientConnection implements DatabaseConnection {
  readonly #lanes: Lanes
  /** The lane of the transaction. */
  #name: keyof Lanes | undefined
  /** Whether the transaction has begun, and holds its lane. */
  #hasBegun = false

  constructor(lanes: Lanes) {
    this.#lanes = lanes
  }

  begin(name: keyof Lanes): void {
    this.#name = name
  }

  async end(sql: 'commit' | 'rollback'): Promise<void> {
    const lane = this.#hasBegun && this.#name !== undefined ? this.#lanes[this.#name] : undefined
    try {
      await lane?.client.query({ sql, parameters: [] })
    } catch (error) {
      // A failed commit is rolled back next; after some failures, SQLite has already rolled back.
      if (sql === 'commit') throw error
    }
    this.#name = undefined
    this.#hasBegun = false
    lane?.queue.leave()
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    const rows = this.#name === undefined ? await this.#runAlone(query) : await this.#runWithin(this.#name, query)
    // Kysely derives the type of a row from the query.
    return { rows: rows as Row[] }
  }

  async #runWithin(name: keyof Lanes, { sql, parameters }: CompiledQuery) {
    const lane = this.#lanes[name]
    if (this.#hasBegun) return lane.client.query({ sql, parameters })
    await lane.queue.enter()
    this.#hasBegun = true
    return lane.client.query({ sql, parameters, begin: begins[name] })
  }

  async #runAlone({ sql, parameters, query }: CompiledQuery) {
    const lane = this.#lanes[query.kind === 'SelectQueryNode' ? 'reads' : 'writes']
    return await lane.queue.run(undefined, () => lane.client.query({ sql, parameters }))
  }

  // biome-ignore lint/correctness/useYield: it never has a row
  async *streamQuery(): AsyncGenerator<never> {
    throw new Error('rows are read in pages instead')
  }
}
