// What the scripts share: running commands and npm, and saying what happens, on standard error.
import { spawn, spawnSync } from 'node:child_process'
import { constants } from 'node:os'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url)).replace(/[\\/]$/, '')

export const endSignals = ['SIGINT', 'SIGTERM', 'SIGHUP']

/** Runs a command with our standard streams, passes signals on, and resolves with its exit code. */
export function run(command, args, options = {}) {
  let child
  let lastMs = Number.NEGATIVE_INFINITY
  const onSignal = (signal) => {
    // A terminal also sends Ctrl-C to the child, and npm forwards its own signals: a second signal would stop the child
    // immediately instead of letting it finish its work.
    if (signal === 'SIGINT' && process.stdin.isTTY) return
    const nowMs = performance.now()
    if (nowMs - lastMs > 500) child.kill(signal)
    lastMs = nowMs
  }
  // Before the command starts: a signal that comes at once would end this process alone.
  for (const signal of endSignals) process.on(signal, onSignal)
  child = spawn(command, args, { cwd: root, stdio: 'inherit', ...options })
  // npm sends signals to the shell that runs this process; the shell dies without forwarding them.
  const parent = process.ppid
  const orphanWatch = setInterval(() => {
    if (process.ppid === parent || process.env.npm_lifecycle_event === undefined) return
    clearInterval(orphanWatch)
    onSignal('SIGTERM')
  }, 250)
  return new Promise((resolve) => {
    child.once('error', (error) => fail(`${command} cannot be started: ${error.message}`))
    child.once('close', (code, signal) => {
      clearInterval(orphanWatch)
      for (const name of endSignals) process.removeListener(name, onSignal)
      resolve(code ?? 128 + constants.signals[signal])
    })
  })
}

/** Runs npm and returns its status and `output`, both streams together; `stdout` is standard output alone. */
export function npm(args, options = {}) {
  const [command, all, more] = npmCommand(args)
  return capture(command, all, { ...more, ...options })
}

export function npmCommand(args) {
  // Inside `npm run`, this is the running npm; on Windows it avoids a shell.
  const path = process.env.npm_execpath
  if (path?.endsWith('.js')) return [process.execPath, [path, ...args], {}]
  return ['npm', args, { shell: process.platform === 'win32' }]
}

/**
 * Runs a command in a process group of its own, says its title, and resolves with its status and output. When this process is told to end, the whole
 * group ends first: npm passes no signal on to what it runs, and what is left of it would spoil the next start.
 */
export async function runGroup(command, args, { title, onStart = () => undefined, ...options }) {
  const isWindows = process.platform === 'win32'
  const stopTitle = showTitle(title)
  let child
  let output = ''
  const endGroup = (signal) => {
    try {
      if (isWindows) child.kill(signal)
      else process.kill(-child.pid, signal)
    } catch (error) {
      if (error.code !== 'ESRCH') throw error
    }
  }
  let stoppedBy
  const onSignal = (signal) => {
    stoppedBy ??= signal
    // Nothing in it is worth waiting for: the next start begins anew.
    endGroup('SIGKILL')
  }
  for (const signal of endSignals) process.on(signal, onSignal)
  child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], detached: !isWindows, ...options })
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (piece) => {
      output += piece
    })
  }
  if (child.pid !== undefined) onStart(child.pid)
  try {
    return await new Promise((resolve, reject) => {
      child.once('error', (error) => reject(new Error(`${command} cannot be started: ${error.message}`)))
      child.once('close', (status) => resolve({ status, output }))
    })
  } catch (error) {
    return fail(error.message)
  } finally {
    stopTitle()
    for (const signal of endSignals) process.removeListener(signal, onSignal)
    // Runs the handlers of `exit`, which release and remove what was made for it.
    if (stoppedBy !== undefined) process.exit(128 + constants.signals[stoppedBy])
  }
}

/** Says what is being done; on a terminal, with the seconds that it has taken. Returns a function that ends the line. */
function showTitle(title) {
  if (process.stderr.isTTY !== true) {
    say(title)
    return () => undefined
  }
  const beganMs = performance.now()
  const show = () => {
    const seconds = Math.round((performance.now() - beganMs) / 1000)
    const time = seconds < 2 ? '' : `, ${seconds} s`
    // A line that the terminal wraps cannot be overwritten.
    const room = Math.max(0, (process.stderr.columns ?? 80) - time.length - 1)
    const text = `dragoman: ${title}`
    process.stderr.write(`\r\u001B[2K${text.length <= room ? text : `${text.slice(0, Math.max(0, room - 1))}…`}${time}`)
  }
  show()
  const timer = setInterval(show, 1000)
  return () => {
    clearInterval(timer)
    process.stderr.write('\n')
  }
}

export function capture(command, args, options = {}) {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    ...options,
  })
  if (error !== undefined) fail(`${command} cannot be started: ${error.message}`)
  return { status, stdout, output: `${stdout}${stderr}` }
}

export function say(text) {
  process.stderr.write(`dragoman: ${text}\n`)
}

export function fail(text) {
  say(text)
  process.exit(1)
}
