import type { Logger } from 'pino'
import type { StartObserver } from '../app/create-model.ts'
import { createLog, type LogOptions } from '../app/log.ts'
import { prettyDestination } from '../app/pretty-log.ts'
import { createProgress, type Progress } from './progress.ts'

/** Where a command tells its user what happens: one writer of standard error for the log, notes and the progress line. */
export type CommandConsole = {
  readonly log: Logger
  readonly progress: Progress
  readonly observer: StartObserver
}

/** On a terminal, log entries stand above the progress line. */
export function createConsole({ level }: Pick<LogOptions, 'level'>): CommandConsole {
  const progress = createProgress(process.stderr)
  const log = createLog({ level, ...(process.stderr.isTTY === true && { destination: prettyDestination(progress) }) })
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
