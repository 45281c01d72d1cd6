import type { DatabaseSync, StatementSync } from 'node:sqlite'

export type SqliteRow = Readonly<Record<string, unknown>>

const maxPrepared = 200

/** An open database file. Calls block the thread. Statements are prepared once. */
export class SqliteFile {
  readonly #database: DatabaseSync
  readonly #prepared = new Map<string, StatementSync>()

  constructor(path: string) {
    // Not imported: Node.js 22 warns as soon as it is loaded.
    const sqlite = process.getBuiltinModule('node:sqlite')
    this.#database = new sqlite.DatabaseSync(path)
  }

  query(sql: string, parameters: readonly unknown[]): SqliteRow[] {
    const statement = this.#prepared.get(sql) ?? this.#database.prepare(sql)
    if (this.#prepared.size >= maxPrepared) this.#prepared.clear()
    this.#prepared.set(sql, statement)
    return statement.all(...(parameters as Parameters<StatementSync['all']>)) as SqliteRow[]
  }

  close(): void {
    this.#database.close()
  }
}
