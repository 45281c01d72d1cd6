import type { SqliteRow } from './sqlite-file.ts'

/** The start data of the thread. */
export type SqliteSettings = {
  readonly path: string
  /** The file exists, and is not changed. */
  readonly onlyReads?: boolean
}

/** A query, which may begin a transaction before it runs. */
export type SqliteQuery = {
  readonly sql: string
  readonly parameters: readonly unknown[]
  readonly begin?: 'begin' | 'begin immediate'
}

/** A query to the thread, or the order to close the file and to end. Queries are answered in order. */
export type SqliteCall = SqliteQuery | 'close'

/** The first answer reports whether the file is open. */
export type SqliteAnswer = { readonly rows: readonly SqliteRow[] } | { readonly failure: string }
