import { spawn } from 'node:child_process'
import { withPipes } from '../../base/process/with-pipes.ts'

type ProgramRun = {
  readonly command: string
  readonly args: readonly string[]
  readonly input: Uint8Array
  /** The program is killed when it writes more. */
  readonly maxOutputBytes: number
  readonly timeoutMs: number
}

/** Why a program gave no result. */
export class ProgramFailure extends Error {
  readonly reason: 'not-found' | 'too-large' | 'too-slow' | 'failed'

  constructor(reason: ProgramFailure['reason'], message: string) {
    super(message)
    this.name = 'ProgramFailure'
    this.reason = reason
  }
}

const maxErrorChars = 2000
/** The variables that programs need; no secrets. */
const passedOn = ['PATH', 'HOME', 'TMPDIR', 'TEMP', 'SystemRoot', 'LD_LIBRARY_PATH']

/**
 * The output of a program for its input. Rejects with `ProgramFailure`, and with the signal's reason; in any case the program has ended by
 * then.
 */
export function runProgram(
  { command, args, input, maxOutputBytes, timeoutMs }: ProgramRun,
  signal: AbortSignal,
): Promise<Buffer> {
  signal.throwIfAborted()
  const env = Object.fromEntries(passedOn.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])))
  const child = withPipes(spawn(command, args, { env, stdio: ['pipe', 'pipe', 'pipe'], windowsHide: true }))
  const pieces: Buffer[] = []
  let sizeBytes = 0
  let errors = ''
  let failure: ProgramFailure | undefined
  const fail = (reason: ProgramFailure['reason'], message: string) => {
    failure ??= new ProgramFailure(reason, message)
    child.kill('SIGKILL')
  }
  const stop = () => child.kill('SIGKILL')
  signal.addEventListener('abort', stop, { once: true })
  const timer = setTimeout(() => fail('too-slow', `it took longer than ${timeoutMs / 1000} seconds`), timeoutMs)
  child.stdout.on('data', (piece: Buffer) => {
    sizeBytes += piece.length
    if (sizeBytes > maxOutputBytes) fail('too-large', `the result is larger than ${maxOutputBytes} bytes`)
    else pieces.push(piece)
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(0, maxErrorChars)
  })
  // A program may stop reading once it has seen enough.
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  return new Promise<Buffer>((resolve, reject) => {
    child.once('error', (error) => {
      const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
      if (child.pid !== undefined) failure ??= new ProgramFailure('failed', error.message)
      // What this machine lacks, such as room for a process, says nothing about the input.
      else reject(isMissing ? new ProgramFailure('not-found', error.message) : error)
    })
    child.once('close', (code, killedBy) => {
      if (signal.aborted) reject(signal.reason)
      else if (failure !== undefined) reject(failure)
      else if (code === 0) resolve(Buffer.concat(pieces))
      else reject(new ProgramFailure('failed', errors.trim() || `it ended with ${killedBy ?? `code ${code}`}`))
    })
  }).finally(() => {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
  })
}
