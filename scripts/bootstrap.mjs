// Makes a fresh clone runnable with only Node and npm: installs dependencies, then builds. All its messages go to standard error,
// which leaves standard output to the commands.
import { createHash } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { bundlePrograms, removeBundles } from './build/bundle.mjs'
import { fail, npmCommand, root, run, runGroup, say } from './commands.mjs'
import { isOurNode } from './node.mjs'
import { ensurePage, isPageBuilt } from './page.mjs'

const program = join(root, 'dist', 'cli', 'program.js')
const installStamp = join(root, 'node_modules', '.dragoman-lock')
const buildStamp = join(root, 'dist', '.built')
/** The compiler writes only what changed since. */
const compilerState = join(root, 'dist', '.tsbuildinfo')
const setupLock = join(root, '.cache', 'setup.lock')
/** What is started while the lock is held keeps it, too. */
const onStart = (pid) => writeFileSync(setupLock, `${process.pid} ${pid}`)

/** Installs the dependencies of package-lock.json unless they are installed. */
export async function ensureInstalled() {
  if (isInstalled()) return
  await withLock(async () => {
    if (isInstalled()) return
    // The build needs development dependencies, whatever NODE_ENV is. Errors only: npm warns about every package that
    // requires another version of Node.
    const args = ['ci', '--include=dev', '--include=optional', '--ignore-scripts', '--loglevel=error']
    const [npm, npmArgs, options] = npmCommand(args)
    const { status, output } = await runGroup(npm, npmArgs, { ...options, title: 'installing dependencies', onStart })
    if (status !== 0) fail(`npm ci failed:\n${output.trim()}`)
    writeFileSync(installStamp, lockHash())
  })
}

/** Builds dist/ unless it is built from exactly these sources. */
export async function ensureBuilt() {
  if (isBuilt(sourcesState()) && isPageBuilt()) return
  await withLock(async () => {
    await ensurePage()
    const state = sourcesState()
    if (isBuilt(state)) return
    rmSync(buildStamp, { force: true })
    const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
    const compile = [compiler, '-p', 'tsconfig.build.json']
    const { status, output } = await runGroup(process.execPath, compile, { title: 'building', onStart })
    if (status !== 0) fail(`the build failed:\n${output}`)
    removeStale(join(root, 'dist'))
    await bundlePrograms()
    chmodSync(program, 0o755)
    writeFileSync(buildStamp, state)
  })
}

/** For whoever has changed a source and what is built from it: dist/ is not built anew. */
export function markBuilt() {
  rmSync(buildStamp, { force: true })
  forgetOutputs()
  removeBundles()
  writeFileSync(buildStamp, sourcesState())
}

/** For whoever changes what is built: the next build writes every file. */
export function forgetOutputs() {
  rmSync(compilerState, { force: true })
}

/** Runs the command line with these arguments and exits with its code. */
export async function runProgram(args) {
  // npm runs scripts in the package's folder; paths are relative to the user's folder.
  const cwd = process.cwd() === root ? (process.env.INIT_CWD ?? root) : process.cwd()
  // In a checkout, npx finds the program; it is not on the PATH. It would run it with the machine's Node.
  const env = { ...process.env, DRAGOMAN_COMMAND: isOurNode ? 'npm run -s dragoman --' : 'npx dragoman' }
  const { startFlags } = await import(new URL('v8-flags.js', pathToFileURL(program)))
  process.exitCode = await run(process.execPath, [...startFlags, program, ...args], { cwd, env })
}

function isInstalled() {
  if (existsSync(installStamp) && readFileSync(installStamp, 'utf8') === lockHash()) return true
  if (!isInstalledByNpm()) return false
  writeFileSync(installStamp, lockHash())
  return true
}

/** Whether somebody has run `npm ci`: npm's own record has what package-lock.json lists, for this platform. */
function isInstalledByNpm() {
  const record = join(root, 'node_modules', '.package-lock.json')
  if (!existsSync(record)) return false
  const packagesOf = (file) => JSON.parse(readFileSync(file, 'utf8')).packages
  const installed = packagesOf(record)
  const isThere = ([path, { version, integrity, optional }]) => {
    const found = installed[path]
    if (found === undefined) return optional === true
    return found.version === version && found.integrity === integrity
  }
  return Object.entries(packagesOf(join(root, 'package-lock.json')))
    .filter(([path]) => path !== '')
    .every(isThere)
}

function lockHash() {
  return createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex')
}

function isBuilt(state) {
  return existsSync(program) && existsSync(buildStamp) && readFileSync(buildStamp, 'utf8') === state
}

/** A hash that changes whenever what is built is changed, added, moved or removed: tests are not. */
function sourcesState() {
  const tops = ['package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json'].map((name) => join(root, name))
  const hash = createHash('sha256')
  const sources = filesBelow(join(root, 'src')).filter((file) => !/\.test\.ts$|__fixtures__/.test(file))
  for (const file of [...tops, ...sources]) {
    const { size, mtimeMs } = statSync(file)
    hash.update(`${relative(root, file)} ${size} ${mtimeMs}\n`)
  }
  return hash.digest('hex')
}

/** Removes outputs without a source: an old file could still be imported. */
function removeStale(dist) {
  for (const file of filesBelow(dist)) {
    // The page has sources of its own.
    if (file === compilerState || file.startsWith(join(dist, 'page', '/'))) continue
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
