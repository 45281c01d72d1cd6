// npm run newer-node: installs the newest Node.js that is tested, for the tests of what newer versions have or do differently, unless it
// is installed; prints its path. It goes into a folder outside the repository: it is 120 MB, and not a dependency.
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkNode, fail, npm, say } from './bootstrap.mjs'

checkNode()

const version = '26.10.0'
const builds = new Set(['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64'])
const platform = `${process.platform}-${process.arch}`
const tools = process.env.DRAGOMAN_TEST_TOOLS ?? join(tmpdir(), 'dragoman-test-tools')
const target = join(tools, `node-${version}`)
const binary = join(target, 'bin', 'node')

if (!existsSync(binary)) {
  if (!builds.has(platform)) fail(`there is no package with Node.js ${version} for ${platform}`)
  install()
}
process.stdout.write(`${binary}\n`)

function install() {
  say(`installing Node.js ${version} for the tests`)
  mkdirSync(tools, { recursive: true })
  const work = mkdtempSync(join(tools, 'install-'))
  process.once('exit', () => rmSync(work, { recursive: true, force: true }))
  writeFileSync(join(work, 'package.json'), '{}')
  const name = `node-${platform}`
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const { status, output } = npm(['install', ...flags, `${name}@${version}`], { cwd: work })
  if (status !== 0) fail(`${name} ${version} cannot be installed:\n${output.trim().slice(-2000)}`)
  try {
    renameSync(join(work, 'node_modules', name), target)
  } catch (error) {
    // Another process installed the same.
    if (!existsSync(binary)) throw error
  }
}
