import { inspect } from 'node:util'
import type { Logger } from 'pino'
import { createLog, type LogOptions } from '../../app/log/log.ts'
import { prettyDestination } from '../../app/log/pretty-log.ts'
import { printableLines } from '../../app/log/printable.ts'
import type { StartObserver } from '../../app/models/create-model.ts'
import { AppError } from '../../contract/errors.ts'
import { createProgress, type Progress } from './progress.ts'

/** A command's messages to its user: one writer of standard error for the log, notes and the progress line. */
type CommandConsole = {
  readonly log: Logger
  readonly progress: Progress
  readonly observer: StartObserver
}

/** On a terminal, log entries appear above the progress line. */
export function createConsole({ level }: Pick<LogOptions, 'level'>): CommandConsole {
  const isTerminal = process.stderr.isTTY === true
  const terminal = createProgress(process.stderr)
  const log = createLog({ level, ...(isTerminal && { destination: prettyDestination(terminal) }) })
  // Notices are for the operator at any log level: one of them has a key that is shown only once.
  const progress = isTerminal ? terminal : logProgress(createLog({ level: 'info' }))
  return {
    log,
    progress,
    observer: {
      onDownload: (id, { receivedBytes, totalBytes }) => progress.update(`fetching ${id}`, receivedBytes, totalBytes),
      onNote: (id, note) => progress.note(`${id}: ${note}`),
      onFetch: () => undefined,
    },
  }
}

/** Reports to the user why a command failed: a user error is one line, an internal error needs its stack. */
export function reportFailure(error: unknown): void {
  // Messages quote text of callers, servers and files.
  console.error(printableLines(isExpected(error) ? `dragoman: ${error.message}` : inspect(error)))
}

/** As `reportFailure`; with a log, as one entry of it: a reader of standard error other than a terminal expects nothing but JSON. */
export function reportServeFailure(
  error: unknown,
  log: Pick<Logger, 'fatal'> | undefined = process.stderr.isTTY === true ? undefined : createLog({ level: 'fatal' }),
): void {
  if (log === undefined) reportFailure(error)
  else if (isExpected(error)) log.fatal({ code: error.code }, error.message)
  else log.fatal({ err: error }, 'the server failed')
}

function isExpected(error: unknown): error is AppError {
  return error instanceof AppError && error.code !== 'internal'
}

/** How often a download is logged. */
const logEveryMs = 5000

/** Without a terminal, notes and progress are entries of the log: the reader of standard error expects nothing but JSON. */
export function logProgress(log: Pick<Logger, 'info'>, now: () => number = () => performance.now()): Progress {
  let loggedMs = Number.NEGATIVE_INFINITY
  return {
    update(label, doneBytes, totalBytes) {
      if (now() - loggedMs < logEveryMs && doneBytes !== totalBytes) return
      loggedMs = now()
      log.info({ doneBytes, totalBytes }, label)
    },
    note: (line) => log.info(line.trim()),
    write: (text) => log.info(text.trim()),
    end: () => undefined,
  }
}
