import { spawn } from 'node:child_process'
import { withPipes } from '../../base/process/with-pipes.ts'
import { AppError } from '../../contract/errors.ts'

type PythonOptions = {
  /** Must be empty: modules in the working folder shadow Python's own. */
  readonly cwd: string
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly signal?: AbortSignal | undefined
}

const killAfterMs = 2_000
const keptErrorCharacters = 4_000

/**
 * Runs `python3` and yields its standard output. Throws `model-unavailable` with the end of its standard error when it
 * fails. However the iteration ends, the process and its children have ended too.
 */
export async function* runPython(args: readonly string[], options: PythonOptions): AsyncGenerator<Buffer, void, void> {
  const { cwd, env, signal } = options
  signal?.throwIfAborted()
  const child = withPipes(
    spawn('python3', args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      // Its own process group, so that pip's children are stopped with it.
      detached: process.platform !== 'win32',
    }),
  )
  const ended = new Promise<number | Error | null>((resolve) => {
    child.once('error', resolve)
    child.once('close', resolve)
  })
  let errorText = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errorText = `${errorText}${text}`.slice(-keptErrorCharacters)
  })
  const kill = (name: NodeJS.Signals) => killGroup(child.pid, name)
  let killTimer: NodeJS.Timeout | undefined
  const stop = () => {
    kill('SIGTERM')
    killTimer ??= setTimeout(() => kill('SIGKILL'), killAfterMs)
  }
  const killOnExit = () => kill('SIGKILL')
  signal?.addEventListener('abort', stop, { once: true })
  process.once('exit', killOnExit)
  let isOver = false
  try {
    yield* child.stdout
    const end = await ended
    isOver = true
    signal?.throwIfAborted()
    if (end !== 0) throw describeEnd(end, errorText)
  } finally {
    if (!isOver) stop()
    await ended
    clearTimeout(killTimer)
    signal?.removeEventListener('abort', stop)
    process.removeListener('exit', killOnExit)
  }
}

function killGroup(pid: number | undefined, name: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, name)
  } catch (error) {
    // macOS returns EPERM for a group that contains only zombies.
    const isGone = error instanceof Error && 'code' in error && (error.code === 'ESRCH' || error.code === 'EPERM')
    if (!isGone) throw error
  }
}

function describeEnd(end: number | Error | null, errorText: string): AppError {
  if (end instanceof Error) {
    const message = `python3 cannot be started (${end.message}); install Python 3 with pip, or use another source`
    return new AppError('model-unavailable', message, { cause: end })
  }
  if (errorText.includes('No module named pip')) {
    return new AppError('model-unavailable', 'python3 has no pip; install it, or use another source')
  }
  const lines = errorText.split('\n').filter((line) => line.trim() !== '')
  const reported = lines.filter((line) => line.startsWith('ERROR: ')).map((line) => line.slice('ERROR: '.length))
  const reason = reported.length > 0 ? reported.join(' ') : (lines.at(-1) ?? `python3 ended with status ${end}`)
  return new AppError('model-unavailable', reason)
}
