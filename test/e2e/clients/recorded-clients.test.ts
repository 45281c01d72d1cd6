import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { startClientApp } from '../../clients/client-app.ts'
import { type Judged, renderClients } from '../../clients/document.ts'
import { judge } from '../../clients/judge.ts'
import { ownFolder, readRecordings } from '../../clients/recording.ts'
import type { RunningApp } from '../../support/http/app.ts'
import { startHub } from '../../support/upstream/hub.ts'

let app: RunningApp
let hub: Awaited<ReturnType<typeof startHub>>
beforeAll(async () => {
  hub = await startHub()
  vi.stubEnv('HF_ENDPOINT', hub.origin)
  app = await startClientApp()
})
afterAll(async () => {
  await app.close()
  vi.unstubAllEnvs()
  await hub.close()
})

describe('requests of real clients are answered as they read it', () => {
  const judged: Judged[] = []

  test.each([...readRecordings(ownFolder)])('%s', async (_, recording) => {
    const verdict = await judge(app.url, recording)
    judged.push({ recording, verdict })
    expect(verdict.faults).toEqual([])
  })

  test('docs/clients.md says what became of them', async () => {
    const hint = 'docs/clients.md is out of date; regenerate it with: npx vitest run --project e2e test/e2e/clients/recorded -u'
    await expect(renderClients(judged), hint).toMatchFileSnapshot('../../../docs/clients.md')
  })
})

/** More of them, each with the status that its client needs. */
const others = new URL('../../../../shared/vectors/clients/', import.meta.url)
const otherRecordings = readRecordings(others)
// A suite that lacks its data says so.
if (otherRecordings.size === 0)
  test.skip('requests that others recorded (skipped: ../shared/vectors is not here)', () => undefined)

test.each([...otherRecordings])('the request %s, which others recorded', async (name, recording) => {
  const expected = JSON.parse(readFileSync(new URL('expected.json', others), 'utf8'))
  const { status, faults } = await judge(app.url, recording)
  expect([expected[name]?.status ?? 200].flat(), faults.join()).toContain(status)
  if (status === 200) expect(faults).toEqual([])
})
