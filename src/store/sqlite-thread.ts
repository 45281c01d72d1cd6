// The thread that owns a database file: SQLite's calls block, and wait for locks of other processes.
import { closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { messageOf } from '../contract/errors.ts'
import { SqliteFile, type SqliteRow } from './sqlite-file.ts'
import type { SqliteAnswer, SqliteCall, SqliteQuery, SqliteSettings } from './sqlite-messages.ts'

/** How long a call waits for other processes, whose changes take milliseconds. */
const busyTimeoutMs = 5000
/** The limit after a call has waited in vain, until the file is free again: later calls fail almost immediately. */
const lockedTimeoutMs = 20
/** The log of changes shrinks to this size after a large one. */
const journalSizeLimit = 64 * 1024 * 1024

const pragmas = [
  `busy_timeout = ${busyTimeoutMs}`,
  'journal_mode = wal',
  // Commits survive the end of the process; a loss of power may undo the last ones, but damages nothing.
  'synchronous = normal',
  'foreign_keys = on',
  `journal_size_limit = ${journalSizeLimit}`,
]

function open({ path, onlyReads = false }: SqliteSettings): SqliteFile {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  // Created here for its mode, which SQLite also gives to the files beside it.
  closeSync(openSync(path, 'a', 0o600))
  const file = new SqliteFile(path)
  for (const pragma of [...pragmas, `query_only = ${onlyReads}`]) retryWhileBusy(() => file.query(`pragma ${pragma}`, []))
  return file
}

/** Switching to `wal` does not wait for others that do the same. */
function retryWhileBusy(work: () => void): void {
  const deadlineMs = performance.now() + busyTimeoutMs
  for (;;) {
    try {
      work()
      return
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadlineMs) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20)
    }
  }
}

function isBusy(error: unknown): boolean {
  return /locked|busy/.test(messageOf(error))
}

let isLocked = false

function run(file: SqliteFile, { sql, parameters, begin }: SqliteQuery): SqliteRow[] {
  try {
    if (begin !== undefined) file.query(begin, [])
    const rows = file.query(sql, parameters)
    if (isLocked) setLocked(file, false)
    return rows
  } catch (error) {
    if (!isBusy(error)) throw error
    if (!isLocked) setLocked(file, true)
    throw new Error('another process keeps the file of the store locked', { cause: error })
  }
}

function setLocked(file: SqliteFile, now: boolean): void {
  isLocked = now
  file.query(`pragma busy_timeout = ${now ? lockedTimeoutMs : busyTimeoutMs}`, [])
}

function answer(work: () => SqliteAnswer): void {
  let message: SqliteAnswer
  try {
    message = work()
  } catch (error) {
    message = { failure: messageOf(error) }
  }
  parentPort?.postMessage(message)
}

function serve(): void {
  // Node.js 22 warns on standard error, which is for the log, that its SQLite may change.
  process.removeAllListeners('warning')
  try {
    const file = open(workerData)
    parentPort?.on('message', (call: SqliteCall) => {
      if (call === 'close') {
        file.close()
        parentPort?.close()
      } else answer(() => ({ rows: run(file, call) }))
    })
    answer(() => ({ rows: [] }))
  } catch (error) {
    answer(() => ({ failure: messageOf(error) }))
    parentPort?.close()
  }
}

serve()
