import { execFile, execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../../support/http/app.ts'
import { installedFrom } from '../../support/process/test-tools.ts'

const packages = installedFrom('mcp-servers', new URL('../../mcp/package.json', import.meta.url))
const suite = join(packages, 'node_modules/@modelcontextprotocol/conformance/dist/index.js')
const isInstalled = existsSync(suite)
const hint = isInstalled ? '' : ' (skipped: install it with `npm run mcp-servers`)'
const root = fileURLToPath(new URL('../../..', import.meta.url))
const client = `"${process.execPath}" test/support/mcp/conformance-client.mjs`

/** They need elicitation, which this client does not offer: it asks nobody while a tool runs. */
const elicitation = new Set(['elicitation-sep1034-client-defaults', 'sep-2322-client-request-state'])

/** Scenarios for clients, at each revision of the protocol; without logins, which are the operator's matter, and without extensions. */
function scenarios(): readonly (readonly [string, string])[] {
  const list = execFileSync(process.execPath, [suite, 'list', '--client'], { encoding: 'utf8' })
  return [...list.matchAll(/^ {2}- (\S+) \[([\d,-]+)\]$/gm)].flatMap(([, name = '', revisions = '']) =>
    name.startsWith('auth/') ? [] : revisions.split(',').map((revision) => [name, revision] as const),
  )
}

/** Scenarios for servers that have no tools for tests. */
const ofServers = [
  ['server-initialize', '2025-11-25'],
  ['ping', '2025-11-25'],
  ['tools-list', '2025-11-25'],
  ['server-session-lifecycle', '2025-11-25'],
  ['dns-rebinding-protection', '2025-11-25'],
  ['server-stateless', '2026-07-28'],
  ['http-header-validation', '2026-07-28'],
] as const
/** Checks of these scenarios that need such tools. */
const needTools = [
  'sep-2575-server-rejects-undeclared-capability',
  'sep-2575-missing-capability-http-400',
  'sep-2575-http-server-no-independent-requests-on-stream',
  'sep-2575-server-no-log-without-loglevel',
]

function run(name: string, revision: string): Promise<{ readonly passed: boolean; readonly output: string }> {
  return runSuite(['client', '--command', client, '--scenario', name, '--spec-version', revision, '--timeout', '120000'])
}

function runSuite(args: readonly string[]): Promise<{ readonly passed: boolean; readonly output: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [suite, ...args], { cwd: root }, (error, stdout, stderr) =>
      resolve({ passed: error === null, output: stdout + stderr }),
    )
  })
}

describe.runIf(isInstalled)(`MCP's conformance suite for clients${hint}`, () => {
  const all = isInstalled ? scenarios() : []

  test('has scenarios for this client', () => {
    expect(all.length).toBeGreaterThan(13)
  })

  test.concurrent.each(all.filter(([name]) => !elicitation.has(name)))('%s of %s passes', async (name, revision) => {
    const { passed, output } = await run(name, revision)
    expect(passed, output).toBe(true)
  })

  test.concurrent.each(all.filter(([name]) => elicitation.has(name)))(
    '%s of %s fails, because it needs elicitation',
    async (name, revision) => {
      const { passed, output } = await run(name, revision)
      expect(passed, output).toBe(false)
    },
  )
})

describe.runIf(isInstalled)(`MCP's conformance suite for servers${hint}`, () => {
  let app: RunningApp
  beforeAll(async () => {
    app = await startApp({ models: [{ engine: 'fake', id: 'scripted', script: 'from-request' }] })
  })
  afterAll(() => app.close())

  test.concurrent.each(ofServers)('%s of %s passes', async (name, revision) => {
    const { output } = await runSuite(['server', '--url', `${app.url}/mcp`, '--scenario', name, '--spec-version', revision])
    const failed = [...output.matchAll(/\[(\S+) *\] \S*FAILURE/g)].map(([, id]) => id)
    expect(failed, output).toEqual(name === 'server-stateless' ? needTools : [])
    expect(output).toMatch(/Passed: [1-9]/)
  })
})
