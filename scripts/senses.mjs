// npm run senses: builds the library with which the embedded engine sees and hears, unless it exists; prints its path. It is llama.cpp's
// multimodal part, compiled from the sources in node-llama-cpp, so nothing is fetched. Needs git, cmake, a C++ compiler, and two minutes of
// one core.

import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { ensureInstalled } from './bootstrap.mjs'
import { capture, fail, say } from './commands.mjs'
import { ensureNode } from './node.mjs'
import { sensesPlace } from './senses-place.mjs'

await ensureNode()
await ensureInstalled()

const { llama, recipe, release, version, cache, name, target, library, isBuilt } = sensesPlace()
if (!isBuilt()) build()
process.stdout.write(`${library}\n`)

function build() {
  for (const [program, what] of [
    ['git', 'git'],
    ['cmake', 'cmake and a C++ compiler'],
  ]) {
    if (spawnSync(program, ['--version']).error !== undefined)
      fail(
        `${program} is not installed, and the library is built with it: install ${what} (Debian: apt-get install git cmake g++), then run this again`,
      )
  }
  mkdirSync(cache, { recursive: true })
  const work = mkdtempSync(join(cache, 'build-'))
  process.once('exit', () => rmSync(work, { recursive: true, force: true }))
  say(`building the library for pictures and sound (llama.cpp ${release}); this takes some minutes`)
  const sources = join(work, 'sources')
  run('git', ['clone', '--quiet', join(llama, 'gitRelease.bundle'), sources])
  const made = join(work, 'made')
  const settings = [`-DLLAMA_SOURCES=${sources}`, '-DCMAKE_BUILD_TYPE=Release']
  run('cmake', ['-S', recipe, '-B', made, ...settings])
  run('cmake', ['--build', made, '--config', 'Release', '--parallel', `${availableParallelism()}`])
  const result = join(work, 'result')
  mkdirSync(result)
  copyFileSync(join(made, ...(process.platform === 'win32' ? ['Release'] : []), name), join(result, name))
  copyFileSync(join(sources, 'LICENSE'), join(result, 'LICENSE'))
  writeFileSync(join(result, 'recipe'), version)
  rmSync(target, { recursive: true, force: true })
  try {
    renameSync(result, target)
  } catch (error) {
    // Another process built the same.
    if (!existsSync(library)) throw error
  }
}

function run(command, args) {
  const { status, output } = capture(command, args)
  if (status !== 0) fail(`${command} failed:\n${output.slice(-4000)}`)
}
