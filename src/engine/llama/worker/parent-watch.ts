import { Worker } from 'node:worker_threads'

const checkEveryMs = 500

/**
 * Runs in a thread of its own, because the process may be busy in native code or in a template for minutes, and then sees neither the
 * closed channel nor a signal. Plain text, so that it needs no loader.
 */
const watchProgram = `
  const { workerData: { parent, checkEveryMs } } = require('node:worker_threads')
  const isGone = () => {
    // The parent of an orphan is another process; on Windows it stays the same number.
    if (process.platform !== 'win32') return process.ppid !== parent
    try {
      process.kill(parent, 0)
      return false
    } catch (error) {
      return error.code === 'ESRCH'
    }
  }
  setInterval(() => {
    if (isGone()) process.kill(process.pid, 'SIGKILL')
  }, checkEveryMs)
`

/** Kills this process within a second of its parent's end, however busy it is. */
export function endWithParent(parent: number): void {
  const watcher = new Worker(watchProgram, {
    eval: true,
    workerData: { parent, checkEveryMs },
    execArgv: [],
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1 },
  })
  // It must not keep the process alive.
  watcher.unref()
}
