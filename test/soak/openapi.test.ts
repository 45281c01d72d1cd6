import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openDescribed } from '../support/http/described-server.ts'
import { roundsOf, soakLength } from '../support/process/soak-length.ts'
import { installedFrom } from '../support/process/test-tools.ts'

/** Where scripts/installers/openapi-tools.mjs puts Schemathesis. */
const packages = installedFrom('schemathesis', new URL('../openapi/requirements.txt', import.meta.url))
const isInstalled = existsSync(packages)
const hint = isInstalled ? '' : ' (skipped: install it with `npm run openapi-tools`)'
const durationSeconds = soakLength(240)

describe.skipIf(!isInstalled)(`requests that Schemathesis makes of the OpenAPI document${hint}`, () => {
  let server: Awaited<ReturnType<typeof openDescribed>>
  let folder: string
  beforeAll(async () => {
    // Each of its models answers here: what another server does wrong is a 502.
    server = await openDescribed({ hasOther: false })
    folder = await mkdtemp(join(tmpdir(), 'dragoman-schemathesis-'))
  })
  afterAll(async () => {
    await server.close()
    await rm(folder, { recursive: true, force: true })
  })

  // It begins late, and its last requests end late, on a busy machine.
  const timeout = (durationSeconds + 300) * 1000
  test('never get a failure of the server, or a reply that its schema does not allow', { timeout }, async () => {
    const checks = ['not_a_server_error', 'status_code_conformance', 'content_type_conformance', 'response_schema_conformance']
    const options = [
      '--checks',
      checks.join(),
      '--phases',
      'examples,fuzzing',
      '--mode',
      'all',
      '--max-examples',
      `${roundsOf(6, 12)}`,
    ]
    const bounds = ['--max-time', String(durationSeconds), '--request-timeout', '60', '--suppress-health-check', 'all']
    const output = ['--continue-on-failure', '--warnings', 'off', '--no-color']
    const url = `${server.app.url}/openapi.json`
    // Events end with their connection.
    const paths = ['/api/events', '/models/sse'].flatMap((path) => ['--exclude-path', path])
    const args = ['-m', 'schemathesis.cli', 'run', url, '--workers', '2', ...paths, ...options, ...bounds, ...output]
    const result = await new Promise<{ code: unknown; text: string }>((resolve) => {
      const env = { ...process.env, PYTHONPATH: packages, PYTHONDONTWRITEBYTECODE: '1' }
      execFile('python3', args, { cwd: folder, env, maxBuffer: 2 ** 26 }, (error, stdout) =>
        resolve({ code: error?.code ?? 0, text: stdout }),
      )
    })
    expect(result.text).toMatch(/Selected: \d{3}\//)
    expect(result, result.text.slice(-20_000)).toMatchObject({ code: 0 })
  })
})
