import { type DestinationStream, type Logger, pino } from 'pino'
import { prettyDestination } from './pretty-log.ts'

export type LogOptions = {
  readonly level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'
  /** Standard error unless given, so that the output of commands stays clean. */
  readonly destination?: DestinationStream
}

const secretHeaders = ['authorization', 'x-api-key', 'cookie']

/** The process's log, one JSON object a line. Keys are never in it; nobody may hand it a prompt or an output. */
export function createLog({ level, destination = standardError() }: LogOptions): Logger {
  const paths = ['headers', '*.headers', '*'].flatMap((parent) => secretHeaders.map((header) => `${parent}["${header}"]`))
  return pino(
    { level, redact: { paths: [...secretHeaders.map((header) => `["${header}"]`), ...paths], censor: '[redacted]' } },
    destination,
  )
}

/** JSON for machines; where a person looks on, lines to read. */
function standardError(): DestinationStream {
  return process.stderr.isTTY === true ? prettyDestination(process.stderr) : pino.destination(2)
}
