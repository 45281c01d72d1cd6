import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { nodes } from '../../support/process/packed.ts'
import { isFullLength } from '../../support/process/soak-length.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))

/**
 * Unit tests of what differs from version to version of Node.js: HTTP, sockets, streams, threads and SQLite; at full length, also of what uses
 * these. (The packed package, as a whole, answers with each version in packed.test.ts.)
 */
const parts = [
  'http/server',
  'http/client-error',
  'http/pipelined',
  'http/reply/',
  'engine/remote/transport/',
  'store/',
  'threads/',
]
const sockets = isFullLength ? 'http/responses/' : 'http/responses/responses-socket'
const filters = [...parts, sockets, ...(isFullLength ? ['telemetry/', 'workers/'] : [])].map((name) => `src/${name}`)

type Report = { readonly success: boolean; readonly testResults: readonly { readonly assertionResults: readonly Assertion[] }[] }
type Assertion = { readonly ancestorTitles: readonly string[]; readonly fullName: string; readonly status: string }

// CI tries the oldest, `npm run nightly` the newest as well.
const others = nodes.filter(({ version }) => version !== '24')
for (const { version, binary } of isFullLength ? others : others.slice(0, 1)) {
  const hint = binary === undefined ? ' (skipped: run `npm run other-nodes`)' : ''
  test.skipIf(binary === undefined)(
    `Node.js ${version} serves, relays and keeps the store contract${hint}`,
    { timeout: 600_000 },
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'dragoman-other-nodes-'))
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
      const report = join(folder, 'report.json')
      const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
      const args = [vitest, 'run', '--project', 'unit', ...filters, '--reporter=json', `--outputFile=${report}`]
      // Without the variables of the vitest that runs this.
      const { PATH, HOME } = process.env
      // Each process imports and compiles the server anew. `--maxWorkers` does not reach a project with a number of its own.
      const env = { PATH, HOME, VITEST_MAX_WORKERS: '1' }
      // A failed test is in the report.
      await promisify(execFile)(binary ?? '', args, { cwd: root, env }).catch(() => undefined)
      const { success, testResults }: Report = JSON.parse(readFileSync(report, 'utf8'))
      const results = testResults.flatMap(({ assertionResults }) => assertionResults)
      expect(results.filter(({ status }) => status === 'failed').map(({ fullName }) => fullName)).toEqual([])
      expect(success).toBe(true)
      const contract = results.filter(({ ancestorTitles }) => ancestorTitles.includes('store contract: SQLite'))
      expect(contract.length).toBeGreaterThan(40)
      expect(new Set(contract.map(({ status }) => status))).toEqual(new Set(['passed']))
    },
  )
}
