import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'

const root = fileURLToPath(new URL('../../..', import.meta.url))

/** Where `npm run other-nodes` installs them. */
const cache = join(root, '.cache')
const installed = existsSync(cache) ? readdirSync(cache) : []
const versions = ['22.13', '26'].map((version) => {
  const [name] = installed.filter((candidate) => candidate.startsWith(`node-${version}.`))
  return { version, binary: name && join(cache, name, 'bin', 'node') }
})

/** Unit tests of what Node does differently from version to version: HTTP, streams, sockets, threads and SQLite. */
const folders = ['http', 'dialect/ollama', 'engine/remote', 'store', 'telemetry', 'threads', 'workers'].map(
  (name) => `src/${name}/`,
)

type Report = { readonly success: boolean; readonly testResults: readonly { readonly assertionResults: readonly Assertion[] }[] }
type Assertion = { readonly ancestorTitles: readonly string[]; readonly fullName: string; readonly status: string }

for (const { version, binary } of versions) {
  const hint = binary === undefined ? ' (skipped: run `npm run other-nodes`)' : ''
  test.skipIf(binary === undefined)(
    `Node.js ${version} serves, relays and keeps the store contract${hint}`,
    { timeout: 600_000 },
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'dragoman-other-nodes-'))
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
      const report = join(folder, 'report.json')
      const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
      const args = [vitest, 'run', '--project', 'unit', ...folders, '--reporter=json', `--outputFile=${report}`]
      // Without the variables of the vitest that runs this.
      const { PATH, HOME } = process.env
      // A failed test is in the report.
      await promisify(execFile)(binary ?? '', args, { cwd: root, env: { PATH, HOME } }).catch(() => undefined)
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
