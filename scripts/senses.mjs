// npm run senses: builds the library with which the embedded engine sees and hears, unless it exists; prints its path. It is llama.cpp's
// multimodal part, compiled from the sources in node-llama-cpp, so nothing is fetched. Needs git, cmake, a C++ compiler, and two minutes of
// one core.

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { ensureInstalled } from './bootstrap.mjs'
import { capture, fail, root, say } from './commands.mjs'
import { ensureNode } from './node.mjs'

await ensureNode()
await ensureInstalled()

const { platform, arch } = process
const llama = join(root, 'node_modules', 'node-llama-cpp', 'llama')
const recipe = join(root, 'scripts', 'senses')
const { release } = JSON.parse(readFileSync(join(llama, 'binariesGithubRelease.json'), 'utf8'))
const version = createHash('sha256')
  .update(readFileSync(join(recipe, 'CMakeLists.txt')))
  .digest('hex')
  .slice(0, 8)
const cache = join(root, '.cache', 'senses')
const name = { win32: 'mtmd.dll', darwin: 'libmtmd.dylib' }[platform] ?? 'libmtmd.so'
const target = join(cache, `${release}-${platform}-${arch}`)
const library = join(target, name)
const stamp = join(target, 'recipe')

if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== version) build()
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
  copyFileSync(join(made, ...(platform === 'win32' ? ['Release'] : []), name), join(result, name))
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
