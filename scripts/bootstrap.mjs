// Makes a fresh clone runnable with only Node and npm: installs dependencies, then builds. All its messages go to standard error,
// which leaves standard output to the commands.
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url)).replace(/[\\/]$/, '')

const program = join(root, 'dist', 'cli', 'program.js')
const installStamp = join(root, 'node_modules', '.dragoman-lock')
const buildStamp = join(root, 'dist', '.built')
const setupLock = join(root, '.cache', 'setup.lock')
const endSignals = ['SIGINT', 'SIGTERM', 'SIGHUP']

/** Exits when this version of Node is too old. */
export function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major > 20 || (major === 20 && minor >= 19)) return
  fail(`Dragoman needs Node.js 20.19 or later; this is ${process.versions.node} (${process.execPath}).`)
}

/** Installs the dependencies of package-lock.json unless they are installed. */
export async function ensureInstalled() {
  if (isInstalled()) return
  await withLock(async () => {
    if (isInstalled()) return
    // The build needs development dependencies, whatever NODE_ENV is. Errors only: npm warns about every package that
    // requires another version of Node.
    const args = ['ci', '--include=dev', '--include=optional', '--ignore-scripts', '--loglevel=error']
    const { status, output } = await runGroup('installing dependencies', ...npmCommand(args))
    if (status !== 0) fail(`npm ci failed:\n${output.trim()}`)
    writeFileSync(installStamp, lockHash())
  })
}

/** Builds dist/ unless it is built from exactly these sources. */
export async function ensureBuilt() {
  if (isBuilt(sourcesState())) return
  await withLock(async () => {
    const state = sourcesState()
    if (isBuilt(state)) return
    rmSync(buildStamp, { force: true })
    const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
    const { status, output } = await runGroup('building', process.execPath, [compiler, '-p', 'tsconfig.build.json'])
    if (status !== 0) fail(`the build failed:\n${output}`)
    removeStale(join(root, 'dist'))
    chmodSync(program, 0o755)
    writeFileSync(buildStamp, state)
  })
}

/** Runs the command line with these arguments and exits with its code. */
export async function runProgram(args) {
  // npm runs scripts in the package's folder; paths are relative to the user's folder.
  const cwd = process.cwd() === root ? (process.env.INIT_CWD ?? root) : process.cwd()
  // In a checkout, npx finds the program; it is not on the PATH.
  const env = { ...process.env, DRAGOMAN_COMMAND: 'npx dragoman' }
  const { startFlags } = await import(new URL('v8-flags.js', pathToFileURL(program)))
  process.exitCode = await run(process.execPath, [...startFlags, program, ...args], { cwd, env })
}

/** Runs a command with our standard streams, passes signals on, and resolves with its exit code. */
export function run(command, args, options = {}) {
  const child = spawn(command, args, { cwd: root, stdio: 'inherit', ...options })
  let lastMs = Number.NEGATIVE_INFINITY
  const onSignal = (signal) => {
    // A terminal also sends Ctrl-C to the child, and npm forwards its own signals: a second signal would stop the child
    // immediately instead of letting it finish its work.
    if (signal === 'SIGINT' && process.stdin.isTTY) return
    const nowMs = performance.now()
    if (nowMs - lastMs > 500) child.kill(signal)
    lastMs = nowMs
  }
  for (const signal of endSignals) process.on(signal, onSignal)
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

function npmCommand(args) {
  // Inside `npm run`, this is the running npm; on Windows it avoids a shell.
  const path = process.env.npm_execpath
  if (path?.endsWith('.js')) return [process.execPath, [path, ...args], {}]
  return ['npm', args, { shell: process.platform === 'win32' }]
}

/**
 * Runs a command in a process group of its own and resolves with its status and output. When this process is told to end, the whole
 * group ends first: npm passes no signal on to what it runs, and what is left of it would spoil the next start.
 */
async function runGroup(title, command, args, options = {}) {
  const isWindows = process.platform === 'win32'
  const stopTitle = showTitle(title)
  const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], detached: !isWindows, ...options })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (piece) => {
      output += piece
    })
  }
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
  if (child.pid !== undefined) writeFileSync(setupLock, `${process.pid} ${child.pid}`)
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
    // Exits with the lock released.
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
    process.stderr.write(`\r\u001B[2Kdragoman: ${title}${seconds < 2 ? '' : `, ${seconds} s`}`)
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

function isInstalled() {
  return existsSync(installStamp) && readFileSync(installStamp, 'utf8') === lockHash()
}

function lockHash() {
  return createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex')
}

function isBuilt(state) {
  return existsSync(program) && existsSync(buildStamp) && readFileSync(buildStamp, 'utf8') === state
}

/** A hash that changes whenever a source is changed, added, moved or removed. */
function sourcesState() {
  const tops = ['package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json'].map((name) => join(root, name))
  const hash = createHash('sha256')
  for (const file of [...tops, ...filesBelow(join(root, 'src'))]) {
    const { size, mtimeMs } = statSync(file)
    hash.update(`${relative(root, file)} ${size} ${mtimeMs}\n`)
  }
  return hash.digest('hex')
}

/** Removes outputs without a source: an old file could still be imported. */
function removeStale(dist) {
  for (const file of filesBelow(dist)) {
    const source = join(root, 'src', relative(dist, file)).replace(/\.(js|d\.ts)(\.map)?$/, '.ts')
    if (!existsSync(source)) rmSync(file)
  }
}

function filesBelow(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
}

/** Lets one of several concurrent commands install or build while the others wait. */
async function withLock(work) {
  mkdirSync(dirname(setupLock), { recursive: true })
  for (let tries = 0; !tryLock(); tries += 1) {
    if (tries === 5) say(`waiting for another command to finish its build (${relative(root, setupLock)})`)
    await pause(200)
  }
  const unlock = () => rmSync(setupLock, { force: true })
  process.once('exit', unlock)
  try {
    await work()
  } finally {
    unlock()
    process.removeListener('exit', unlock)
  }
}

function tryLock() {
  try {
    writeFileSync(setupLock, `${process.pid}`, { flag: 'wx' })
    return true
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
    if (!isLockAlive()) rmSync(setupLock, { force: true })
    return false
  }
}

/** Its owner runs, or what the owner had started: an install that outlived a killed owner must end before the next one begins. */
function isLockAlive() {
  try {
    const pids = readFileSync(setupLock, 'utf8').split(' ').map(Number)
    // An empty file is a lock whose owner is about to write its process id.
    return pids.some((pid) => pid === 0 || isAlive(pid))
  } catch {
    // Its owner has just removed it.
    return false
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}
