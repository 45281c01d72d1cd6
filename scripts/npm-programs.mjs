// Installs programs from npm for tests, each in a folder of its own outside the repository: they are not dependencies.
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { npm, say } from './commands.mjs'

const tools = process.env.DRAGOMAN_TEST_TOOLS ?? join(tmpdir(), 'dragoman-test-tools')

/** The folder of a program, installed unless it is there, with the program as `name` in its `bin`; undefined if that fails. */
export function ensureProgram(name, program, folderName = name) {
  const folder = join(tools, `${folderName}-${program.version}`)
  return existsSync(folder) || install(name, program, folder) ? folder : undefined
}

/** Installs beside the folder, and moves the result there when it is complete. */
function install(name, { package: packageName, version, program, needsOptional }, folder) {
  say(`installing ${packageName} ${version} for the tests`)
  mkdirSync(tools, { recursive: true })
  const work = mkdtempSync(join(tools, 'install-'))
  try {
    writeFileSync(join(work, 'package.json'), '{}')
    const flags = [
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
      '--loglevel=error',
      ...(needsOptional ? [] : ['--omit=optional']),
    ]
    const { status, output } = npm(['install', ...flags, `${packageName}@${version}`], { cwd: work })
    if (status !== 0 || !existsSync(join(work, 'node_modules', program))) {
      say(`${packageName} ${version} cannot be installed:\n${output.trim().slice(-2000)}`)
      return false
    }
    mkdirSync(join(work, 'bin'))
    symlinkSync(join('..', 'node_modules', program), join(work, 'bin', name))
    renameSync(work, folder)
    return true
  } catch (error) {
    // Another process installed the same.
    if (existsSync(folder)) return true
    throw error
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}
