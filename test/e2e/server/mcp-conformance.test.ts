import { execFile, execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
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

function run(name: string, revision: string): Promise<{ readonly passed: boolean; readonly output: string }> {
  const args = [suite, 'client', '--command', client, '--scenario', name, '--spec-version', revision, '--timeout', '120000']
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd: root }, (error, stdout, stderr) =>
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
