import { type DestinationStream, type Logger, pino } from 'pino'
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
  return pino(
    {
      level,
      // JSON escapes less than terminals obey.
      hooks: { streamWrite: printableJson },
      redact: { paths: [...secretHeaders.map((header) => `["${header}"]`), ...paths], censor: '[redacted]' },
    },
    destination,
  )
}

/** JSON for machines; readable lines on a terminal. */
function standardError(): DestinationStream {
  return process.stderr.isTTY === true ? prettyDestination(process.stderr) : pino.destination(2)
}
