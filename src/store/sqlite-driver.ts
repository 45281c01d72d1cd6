/** The SQLite libraries that can be used, the preferred one first. */
export const sqliteLibraries = ['node:sqlite', 'libsql'] as const

export type SqliteLibrary = (typeof sqliteLibraries)[number]

export type SqliteRow = Readonly<Record<string, unknown>>

/** An open database file. Calls block the thread. */
export type SqliteFile = {
  readonly library: SqliteLibrary
  query(sql: string, parameters: readonly unknown[]): SqliteRow[]
  close(): void
}

/** What both libraries have in common, apart from how parameters are given. */
type Database<Parameters extends unknown[]> = {
  prepare(sql: string): { all(...parameters: Parameters): SqliteRow[] }
  close(): void
}

/** Node.js has it from version 22.13 on; its types are not in those of Node.js 20. */
type NodeSqlite = { readonly DatabaseSync: new (path: string) => Database<unknown[]> }
type Libsql = { readonly default: new (path: string) => Database<[readonly unknown[]]> }

const maxPrepared = 200

/** Opens a file with the first of the libraries that is there. */
export async function openSqliteFile(path: string, libraries: readonly SqliteLibrary[] = sqliteLibraries): Promise<SqliteFile> {
  for (const library of libraries) {
    const open = library === 'node:sqlite' ? await loadNodeSqlite() : await loadLibsql()
    if (open !== undefined) return { library, ...open(path) }
  }
  throw new Error(
    'there is no SQLite: use Node.js 22.13 or later, which contains it, or install the package `libsql` beside Dragoman; ' +
      'or set `storage` to `off` or to a PostgreSQL URL',
  )
}

type Open = (path: string) => Omit<SqliteFile, 'library'>

async function loadNodeSqlite(): Promise<Open | undefined> {
  const sqlite: NodeSqlite | undefined = await load('node:sqlite')
  return (
    sqlite && ((path) => withPrepared(new sqlite.DatabaseSync(path), (statement, parameters) => statement.all(...parameters)))
  )
}

async function loadLibsql(): Promise<Open | undefined> {
  const libsql: Libsql | undefined = await load('libsql')
  return libsql && ((path) => withPrepared(new libsql.default(path), (statement, parameters) => statement.all(parameters)))
}

/** Undefined where the module, or its build for this platform, is not there. */
async function load(name: SqliteLibrary) {
  try {
    return await import(name)
  } catch {
    // Which library is missing does not matter while there is another; without any, the caller says what to install.
    return undefined
  }
}

/** Keeps the statements that it prepared. */
function withPrepared<Parameters extends unknown[]>(
  database: Database<Parameters>,
  all: (statement: ReturnType<Database<Parameters>['prepare']>, parameters: readonly unknown[]) => SqliteRow[],
): Omit<SqliteFile, 'library'> {
  const prepared = new Map<string, ReturnType<Database<Parameters>['prepare']>>()
  return {
    query(sql, parameters) {
      const statement = prepared.get(sql) ?? database.prepare(sql)
      if (prepared.size >= maxPrepared) prepared.clear()
      prepared.set(sql, statement)
      return all(statement, parameters)
    },
    close: () => database.close(),
  }
}
