import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'

/** What `npm run newer-node` installs. */
const tools = process.env.DRAGOMAN_TEST_TOOLS ?? join(tmpdir(), 'dragoman-test-tools')
const installed = existsSync(tools) ? readdirSync(tools).filter((name) => name.startsWith('node-26.')) : []
const [binary] = installed.map((name) => join(tools, name, 'bin', 'node')).filter((path) => existsSync(path))
const hint = binary === undefined ? ' (skipped: run `npm run newer-node`)' : ''

/** Unit tests of what Node does differently from version to version: HTTP, streams, sockets, threads and SQLite. */
const folders = ['src/http/', 'src/engine/remote/', 'src/store/', 'src/threads/', 'src/workers/']

type Report = { readonly success: boolean; readonly testResults: readonly { readonly assertionResults: readonly Assertion[] }[] }
type Assertion = { readonly ancestorTitles: readonly string[]; readonly fullName: string; readonly status: string }

test.skipIf(binary === undefined)(
  `Node.js 26 serves, relays and keeps the store contract with its own SQLite${hint}`,
  { timeout: 300_000 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'dragoman-newer-node-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const cwd = fileURLToPath(new URL('../..', import.meta.url))
    const report = join(folder, 'report.json')
    const vitest = join(cwd, 'node_modules', 'vitest', 'vitest.mjs')
    const args = [vitest, 'run', '--project', 'unit', ...folders, '--reporter=json', `--outputFile=${report}`]
    // Without the variables of the vitest that runs this.
    const { PATH, HOME } = process.env
    // A failed test is in the report.
    await promisify(execFile)(binary ?? '', args, { cwd, env: { PATH, HOME } }).catch(() => undefined)
    const { success, testResults }: Report = JSON.parse(readFileSync(report, 'utf8'))
    const results = testResults.flatMap(({ assertionResults }) => assertionResults)
    expect(results.filter(({ status }) => status === 'failed').map(({ fullName }) => fullName)).toEqual([])
    expect(success).toBe(true)
    const contract = results.filter(({ ancestorTitles }) => ancestorTitles.includes('store contract: node:sqlite'))
    expect(contract.length).toBeGreaterThan(40)
    expect(new Set(contract.map(({ status }) => status))).toEqual(new Set(['passed']))
  },
)
