// npm run sillytavern: installs SillyTavern for test/sillytavern, unless it is installed, and starts it once: it compiles its page then. It is
// not a dependency: it is 430 MB. Prints its folder.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fail, root, say } from '../commands.mjs'
import { ensureNode } from '../node.mjs'
import { ensureProgram } from './npm-programs.mjs'

await ensureNode()

const install = JSON.parse(readFileSync(join(root, 'test', 'sillytavern', 'install.json'), 'utf8'))
const folder = ensureProgram('sillytavern', install)
if (folder === undefined) process.exit(1)
if (!existsSync(join(folder, 'data'))) await prepare(folder)
process.stdout.write(`${folder}\n`)

/** The data of a new user and what is compiled, for tests to copy: complete when the folder is there. */
async function prepare(folder) {
  say('compiling the page of SillyTavern')
  const data = join(folder, `data-${process.pid}`)
  mkdirSync(data)
  process.once('exit', () => rmSync(data, { recursive: true, force: true }))
  const flags = ['--dataRoot', data, '--configPath', join(data, 'config.yaml'), '--port', '0', '--browserLaunchEnabled', 'false']
  const child = spawn(process.execPath, [join(folder, 'bin', 'sillytavern'), ...flags], { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  const isReady = new Promise((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (piece) => {
        output += piece
        if (output.includes('is listening')) resolve(true)
      })
    }
    child.once('close', () => resolve(false))
  })
  const closed = once(child, 'close')
  if (!(await isReady)) fail(`SillyTavern does not start:\n${output.trim().slice(-2000)}`)
  child.kill('SIGTERM')
  await closed
  try {
    renameSync(data, join(folder, 'data'))
  } catch (error) {
    // Another process prepared the same.
    if (!existsSync(join(folder, 'data'))) throw error
  }
}
