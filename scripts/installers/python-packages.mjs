// Installs pinned Python packages for tests in a plain folder outside the repository: they are not dependencies. Packages in a plain folder
// need no virtual environment.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fail, say } from '../commands.mjs'

const tools = process.env.DRAGOMAN_TEST_TOOLS ?? join(tmpdir(), 'dragoman-test-tools')

/** The folder of the packages that a file of requirements names, for PYTHONPATH; installs them unless they are there. */
export function ensurePackages(name, requirements) {
  const digest = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 12)
  // Changed requirements are another folder: what is there is complete.
  const target = join(tools, `${name}-${digest}`)
  if (!existsSync(target)) install({ name, requirements, target })
  return target
}

/** Installs beside the folder, and moves the result there when it is complete. */
function install({ name, requirements, target }) {
  const version = run(['-c', 'import sys; print("%d.%d" % sys.version_info[:2])'], 'python3 is needed')
  const [major = 0, minor = 0] = version.trim().split('.').map(Number)
  if (major !== 3 || minor < 11) fail(`${name} needs Python 3.11 or later; this is ${version.trim()}`)
  run(['-m', 'pip', '--version'], 'pip is needed: python3 -m pip')
  say(`installing ${name} for the tests`)
  mkdirSync(tools, { recursive: true })
  const work = mkdtempSync(join(tools, 'install-'))
  process.once('exit', () => rmSync(work, { recursive: true, force: true }))
  // Every package is named with its version, so nothing is resolved, and only wheels, so nothing of theirs runs.
  const flags = ['--no-deps', '--only-binary=:all:', '--no-compile', '--disable-pip-version-check', '--no-input', '--quiet']
  const source = ['--target', join(work, 'packages'), '--requirement', requirements]
  run(['-m', 'pip', 'install', ...flags, ...source], `${name} cannot be installed`)
  try {
    renameSync(join(work, 'packages'), target)
  } catch (error) {
    // Another process installed the same.
    if (!existsSync(target)) throw error
  }
}

function run(args, reason) {
  const { status, stdout, stderr, error } = spawnSync('python3', args, { encoding: 'utf8', timeout: 600_000 })
  if (error !== undefined) fail(`${reason}: ${error.message}`)
  if (status !== 0) fail(`${reason}:\n${stderr.trim().slice(-2000)}`)
  return stdout
}
