// npm run openapi-tools: installs what judges /openapi.json outside the repository, unless it is there: the generator of clients of
// test/openapi/package.json (45 MB), and Schemathesis (60 MB). Prints their folders.
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fail, npm, root, say } from './commands.mjs'
import { ensureNode } from './node.mjs'
import { ensurePackages } from './python-packages.mjs'

await ensureNode()
const folder = join(root, 'test', 'openapi')
process.stdout.write(`${ensureGenerator(join(folder, 'package.json'))}\n`)
process.stdout.write(`${ensurePackages('schemathesis', join(folder, 'requirements.txt'))}\n`)

function ensureGenerator(manifest) {
  const tools = process.env.DRAGOMAN_TEST_TOOLS ?? join(tmpdir(), 'dragoman-test-tools')
  const digest = createHash('sha256').update(readFileSync(manifest)).digest('hex').slice(0, 12)
  const target = join(tools, `openapi-client-${digest}`)
  if (existsSync(target)) return target
  say('installing the generator of clients for the tests')
  mkdirSync(tools, { recursive: true })
  const work = mkdtempSync(join(tools, 'install-'))
  process.once('exit', () => rmSync(work, { recursive: true, force: true }))
  copyFileSync(manifest, join(work, 'package.json'))
  const { status, output } = npm(['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: work })
  if (status !== 0) fail(`the generator of clients cannot be installed:\n${output.trim().slice(-2000)}`)
  try {
    renameSync(work, target)
  } catch (error) {
    // Another process installed the same.
    if (!existsSync(target)) throw error
  }
  return target
}
