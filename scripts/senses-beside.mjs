import { spawn, spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { join } from 'node:path'
import { root, say } from './commands.mjs'
import { sensesPlace } from './senses-place.mjs'

const log = join(root, '.cache', 'senses.log')

/**
 * Begins to build the library for pictures and sound beside what follows, where a compiler is there and the library is not. It goes on when this
 * process ends; the next load of a model with a projector finds it.
 */
export function buildSensesBeside() {
  if (process.env.CI !== undefined || sensesPlace().isBuilt() || !canBuild()) return
  say(`building the library for pictures and sound beside the server; ${log} says how it goes`)
  mkdirSync(join(root, '.cache'), { recursive: true })
  const output = openSync(log, 'w')
  const child = spawn(process.execPath, [join(root, 'scripts', 'senses.mjs')], {
    cwd: root,
    stdio: ['ignore', output, output],
    detached: true,
  })
  closeSync(output)
  child.on('error', () => undefined)
  child.unref()
  try {
    setPriority(child.pid ?? 0, constants.priority.PRIORITY_LOW)
  } catch {
    // It has ended, or the system has no priorities: then it is not slowed down.
  }
}

function canBuild() {
  const compilers = process.platform === 'win32' ? ['cl'] : ['c++', 'clang++', 'g++']
  const runs = (program) => spawnSync(program, ['--version'], { stdio: 'ignore' }).error === undefined
  return runs('git') && runs('cmake') && compilers.some(runs)
}
