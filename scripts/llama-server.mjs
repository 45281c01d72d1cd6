// npm run llama-server: builds the llama-server for tests unless it exists; prints its path. It is compiled from the sources in
// node-llama-cpp and linked with the libraries there, so nothing is fetched, and it is the release that the embedded engine runs.
// Needs git, cmake, a C++ compiler, and three minutes of one core.
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { capture, fail, root, say } from './commands.mjs'
import { ensureNode } from './node.mjs'

await ensureNode()

const platform = `${process.platform}-${process.arch}`
const libraries = join(root, 'node_modules', '@node-llama-cpp', platform, 'bins', platform)
const bundle = join(root, 'node_modules', 'node-llama-cpp', 'llama', 'gitRelease.bundle')
const recipe = join(root, 'test', 'support', 'llama', 'llama-server')
if (!existsSync(bundle)) fail('node-llama-cpp is not installed: run `npm ci` first')
const { release } = JSON.parse(readFileSync(join(bundle, '..', 'binariesGithubRelease.json'), 'utf8'))
const version = createHash('sha256')
  .update(readFileSync(join(recipe, 'CMakeLists.txt')))
  .digest('hex')
  .slice(0, 8)
const tools = process.env.DRAGOMAN_TEST_TOOLS ?? join(tmpdir(), 'dragoman-test-tools')
const target = join(tools, `llama-server-${release}-${version}`)
const binary = join(target, 'llama-server')

if (!existsSync(binary)) {
  if (process.platform !== 'linux') fail('this recipe is for Linux; set DRAGOMAN_TEST_LLAMA_SERVER to a llama-server')
  if (!existsSync(libraries)) fail(`node-llama-cpp has no libraries for ${platform}`)
  build()
}
process.stdout.write(`${binary}\n`)

function build() {
  mkdirSync(tools, { recursive: true })
  const work = mkdtempSync(join(tools, 'build-'))
  process.once('exit', () => rmSync(work, { recursive: true, force: true }))
  say(`building llama-server ${release} for the tests; this takes some minutes`)
  const sources = join(work, 'sources')
  run('git', ['clone', '--quiet', bundle, sources])
  const settings = [`-DLLAMA_SOURCES=${sources}`, `-DLLAMA_LIBRARIES=${libraries}`, '-DCMAKE_BUILD_TYPE=']
  run('cmake', ['-S', recipe, '-B', join(work, 'made'), ...settings])
  run('cmake', ['--build', join(work, 'made'), '--parallel', `${availableParallelism()}`])
  // llama.cpp looks for its back ends in the folder of the program.
  const made = join(work, 'result')
  mkdirSync(made)
  for (const name of readdirSync(libraries)) if (/\.so/.test(name)) copyFileSync(join(libraries, name), join(made, name))
  copyFileSync(join(work, 'made', 'llama-server'), join(made, 'llama-server'))
  run(join(made, 'llama-server'), ['--version'])
  try {
    renameSync(made, target)
  } catch (error) {
    // Another process built the same.
    if (!existsSync(binary)) throw error
  }
}

function run(command, args) {
  const { status, output } = capture(command, args)
  if (status !== 0) fail(`${command} failed:\n${output.slice(-4000)}`)
}
