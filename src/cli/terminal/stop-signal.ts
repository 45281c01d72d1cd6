import { closeSync, openSync } from 'node:fs'
import { constants } from 'node:os'

/** One Ctrl-C can arrive several times: from the terminal's process group, from npm, from a service manager. */
const sameSignalMs = 1000

/**
 * Until the returned function is called, a stop signal ends the process immediately: there is nothing to finish yet. The first process of a
 * container would ignore it otherwise.
 */
export function endAtSignal(): () => void {
  const end = (signal: NodeJS.Signals) => process.exit(128 + constants.signals[signal])
  const signals = ['SIGTERM', 'SIGINT'] as const
  for (const signal of signals) process.on(signal, end)
  return () => {
    for (const signal of signals) process.off(signal, end)
  }
}

/**
 * Resolves with the first stop signal. Another one after more than a second ends the process immediately. SIGHUP reloads the configuration;
 * without a configuration to reload, or when the terminal was closed, it is a stop signal.
 */
export function stopSignal(reloader: { reload(): Promise<void> } | undefined): Promise<NodeJS.Signals> {
  const hadTerminal = [process.stdin, process.stdout, process.stderr].some(({ isTTY }) => isTTY === true)
  return new Promise((resolve) => {
    let firstMs: number | undefined
    const onSignal = (signal: NodeJS.Signals) => {
      if (firstMs === undefined) {
        firstMs = performance.now()
        resolve(signal)
      } else if (performance.now() - firstMs > sameSignalMs) process.exit(1)
    }
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, onSignal)
    process.on('SIGHUP', (signal) => {
      if (reloader === undefined || (hadTerminal && !hasTerminal())) onSignal(signal)
      else void reloader.reload()
    })
    // It would open Node's debugger to every user of the machine, and some log rotations send it.
    process.on('SIGUSR1', () => undefined)
    // Once the terminal is gone, writing to it fails, which must not end running replies.
    for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
  })
}

/** Whether the terminal that the process was started in is still there. */
function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'))
    return true
  } catch {
    return false
  }
}
