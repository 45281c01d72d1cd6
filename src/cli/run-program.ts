import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { AppError } from '../contract/errors.ts'

const forwarded = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Runs a program with the standard streams and the signals of this process, and resolves with its exit code, as a shell counts it: 128 and
 * the signal's number where a signal ended it.
 */
export function runProgram(file: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  // On a terminal the program must stay in the group that may read from it. Elsewhere it leads a group, which a signal reaches whole: some
  // programs run in processes of their own, and outlive the one that started them.
  const isOnTerminal = process.stdin.isTTY === true
  const child = spawn(file, args, { stdio: 'inherit', env, detached: !isOnTerminal })
  const forward = (signal: NodeJS.Signals) => {
    if (!isOnTerminal) signalGroup(child.pid, signal)
    // A terminal sends Ctrl-C to the program as well.
    else if (signal !== 'SIGINT') child.kill(signal)
  }
  for (const signal of forwarded) process.on(signal, forward)
  return new Promise<number>((resolve, reject) => {
    child.once('error', (cause) => {
      reject(new AppError('invalid-request', `${file} cannot be started: ${cause.message}`, { cause }))
    })
    child.once('close', (code, signal) => resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])))
  }).finally(() => {
    for (const signal of forwarded) process.off(signal, forward)
  })
}

function signalGroup(leader: number | undefined, signal: NodeJS.Signals): void {
  try {
    if (leader !== undefined) process.kill(-leader, signal)
  } catch (error) {
    // ESRCH: it has just ended.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}
