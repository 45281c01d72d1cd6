import { type DestinationStream, type Logger, pino } from 'pino'
import { given } from '../../base/json.ts'
import type { StoppedRun } from '../../core/cancel/cancellations.ts'
import { DescriptorLog } from './descriptor-log.ts'
import { keepLines, LineRing } from './log-lines.ts'
import { prettyDestination } from './pretty-log.ts'
import { printableJson } from './printable.ts'

export type LogOptions = {
  readonly level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'
  /** Default: standard error, to keep the output of commands clean. */
  readonly destination?: DestinationStream
}

const secretHeaders = ['authorization', 'x-api-key', 'cookie']

/** The log of the process, one JSON object per line. API keys in headers are redacted; never log a prompt or an output. */
export function createLog({ level, destination = standardError() }: LogOptions): Logger {
  const paths = ['headers', '*.headers', '*'].flatMap((parent) => secretHeaders.map((header) => `${parent}["${header}"]`))
  const lines = new LineRing()
  const log = pino(
    {
      level,
      // JSON escapes fewer characters than terminals interpret.
      hooks: {
        streamWrite: (line) => {
          const printable = printableJson(line)
          lines.take(printable)
          return printable
        },
      },
      redact: { paths: [...secretHeaders.map((header) => `["${header}"]`), ...paths], censor: '[redacted]' },
    },
    destination,
  )
  keepLines(log, lines)
  return log
}

let ofMachines: DestinationStream | undefined

/** JSON for machines; readable lines on a terminal. */
function standardError(): DestinationStream {
  if (process.stderr.isTTY === true) return prettyDestination(process.stderr)
  // One for all logs of the process, which keeps their lines in order.
  ofMachines ??= new DescriptorLog(2)
  return ofMachines
}

/** Logs the end of each cancelled request: why and by whom it was cancelled, and for how long and how many tokens its work continued. */
export function createStopLog(log: Logger) {
  return ({
    id,
    owner,
    model,
    reason,
    by,
    limit,
    afterMs,
    endedMs,
    tokensAfterCancel,
    cancelId,
    sessionId,
  }: StoppedRun): void => {
    const entry = {
      generationId: id,
      key: owner,
      ...given({ model, by, limit, cancelId, sessionId }),
      reason,
      afterMs: Math.round(afterMs),
      endedMs: Math.round(endedMs),
      lateTokens: tokensAfterCancel,
    }
    log.info(entry, 'request stopped')
  }
}
