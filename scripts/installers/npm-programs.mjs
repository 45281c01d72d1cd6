// Installs programs and packages from npm for tests, each in a folder of its own outside the repository: they are not dependencies.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { npm, say } from '../commands.mjs'

const tools = process.env.DRAGOMAN_TEST_TOOLS ?? join(tmpdir(), 'dragoman-test-tools')
const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']

/** The folder of a program, installed unless it is there, with the program as `name` in its `bin`; undefined if that fails. */
export function ensureProgram(name, { package: packageName, version, program, needsOptional }, folderName = name) {
  const link = (work) => {
    if (!existsSync(join(work, 'node_modules', program))) return false
    mkdirSync(join(work, 'bin'))
    symlinkSync(join('..', 'node_modules', program), join(work, 'bin', name))
    return true
  }
  const args = [...(needsOptional ? [] : ['--omit=optional']), `${packageName}@${version}`]
  return ensure(join(tools, `${folderName}-${version}`), { what: `${packageName} ${version}`, args, finish: link })
}

/** The folder of the npm that tarballs bring. */
export function ensureNpm() {
  return ensureProgram('npm', { package: 'npm', version: '11.19.1', program: 'npm/bin/npm-cli.js' })
}

/** The folder of the packages that a manifest names, installed unless they are there; undefined if that fails. */
export function ensureManifest(name, file) {
  const manifest = readFileSync(file, 'utf8')
  return ensure(folderOf(name, manifest), { what: name, manifest })
}

/** A folder whose `cache` has all that npm needs to install a manifest's packages without a network; undefined if that fails. */
export function ensureNpmCache(name, manifest) {
  const clean = (work) => {
    rmSync(join(work, 'node_modules'), { recursive: true, force: true })
    return true
  }
  return ensure(folderOf(name, manifest), { what: name, manifest, args: ['--cache', 'cache'], finish: clean })
}

/** A changed manifest is another folder: what is there is complete. */
function folderOf(name, manifest) {
  const digest = createHash('sha256').update(manifest).digest('hex').slice(0, 12)
  return join(tools, `${name}-${digest}`)
}

/** Installs beside the folder, and moves the result there when it is complete. */
function ensure(folder, { what, manifest = '{}', args = [], finish = () => true }) {
  if (existsSync(folder)) return folder
  say(`installing ${what} for the tests`)
  mkdirSync(tools, { recursive: true })
  const work = mkdtempSync(join(tools, 'install-'))
  try {
    writeFileSync(join(work, 'package.json'), manifest)
    const { status, output } = npm(['install', ...flags, ...args], { cwd: work })
    if (status !== 0 || !finish(work)) {
      say(`${what} cannot be installed:\n${output.trim().slice(-2000)}`)
      return undefined
    }
    renameSync(work, folder)
    return folder
  } catch (error) {
    // Another process installed the same.
    if (existsSync(folder)) return folder
    throw error
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}
