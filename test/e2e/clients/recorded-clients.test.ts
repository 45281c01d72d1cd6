import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { startClientApp } from '../../clients/client-app.ts'
import { type Judged, renderClients } from '../../clients/document.ts'
import { judge } from '../../clients/judge.ts'
import { moreFolder, ownFolder, readRecordings } from '../../clients/recording.ts'
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
  const more: Judged[] = []

  test.each([...readRecordings(ownFolder)])('%s', async (_, recording) => {
    const verdict = await judge(app.url, recording)
    judged.push({ recording, verdict })
    expect(verdict.faults).toEqual([])
  })

  test.each([...readRecordings(moreFolder)])('so is the request %s, which was not recorded here', async (_, recording) => {
    const verdict = await judge(app.url, recording)
    more.push({ recording, verdict })
    expect(verdict.faults).toEqual([])
  })

  test('docs/reference/clients.md says what became of them', async () => {
    const hint =
      'docs/reference/clients.md is out of date; regenerate it with: npx vitest run --project e2e test/e2e/clients/recorded -u'
    await expect(renderClients(judged, more), hint).toMatchFileSnapshot('../../../docs/reference/clients.md')
  })
})
