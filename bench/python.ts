import { spawnSync } from 'node:child_process'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** Where Python environments are kept between runs. */
const cache = process.env.DRAGOMAN_BENCH_CACHE ?? join(homedir(), '.cache', 'dragoman-bench')

/** The folder of programs of a Python environment with a package, made on demand. Throws why there is none. */
export function pythonPrograms(name: string, requirement: string): string {
  const folder = join(cache, name)
  const done = join(folder, `installed ${requirement.replaceAll(/[^\w.=-]/g, '_')}`)
  const programs = join(folder, 'bin')
  if (existsSync(done)) return programs
  console.error(`installing ${requirement} for the benchmark, once, into ${folder}`)
  rmSync(folder, { recursive: true, force: true })
  run('python3', ['-m', 'venv', folder])
  run(join(programs, 'python'), ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', requirement])
  writeFileSync(done, '')
  return programs
}

function run(command: string, args: readonly string[]): void {
  const { status, error, stderr } = spawnSync(command, [...args], { encoding: 'utf8' })
  if (error !== undefined) throw new Error(`${command} cannot be started: ${error.message}`)
  if (status !== 0) throw new Error(`${command} failed: ${stderr.trim().split('\n').at(-1) ?? ''}`)
}
