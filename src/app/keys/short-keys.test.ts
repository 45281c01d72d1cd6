import { expect, onTestFinished, test } from 'vitest'
import { startApp } from '../../../test/support/http/app.ts'

test('configured keys that can be guessed are named at the start, and not shown', async () => {
  const long = 'sixteen-letters-'
  const app = await startApp({
    models: [{ engine: 'fake', id: 'echo', script: 'from-request' }],
    builtinModel: false,
    server: { apiKeys: [long, { key: 'passphrase', scopes: ['metrics'] }], adminKey: 'a' },
  })
  onTestFinished(() => app.close())
  const warnings = app.logLines().filter(({ level }) => level === 40)
  expect(warnings).toMatchObject([
    {
      settings: ['server.apiKeys[1]', 'server.adminKey'],
      msg: 'keys of fewer than 16 characters can be guessed: choose longer ones',
    },
  ])
  expect(JSON.stringify(warnings)).not.toContain('passphrase')
})
