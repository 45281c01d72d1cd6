import { expect, test } from 'vitest'
import { settingsForRestart } from './changed-settings.ts'
import { configSchema } from './schema.ts'

const fake = { engine: 'fake', id: 'm', script: 'from-request' } as const

test.each<[change: Parameters<typeof configSchema.parse>[0], restart: readonly string[]]>([
  [{}, []],
  [{ models: [fake], builtinModel: false, log: { level: 'debug' }, templates: '/t' }, []],
  [{ server: { apiKeys: ['k'], keyLimits: { requestsPerMinute: 1 }, allowedOrigins: ['*'], allowedHosts: ['h'] } }, []],
  [{ sampling: { presets: { calm: { temperature: { override: 0 } } }, preset: 'calm' }, limits: { queueMs: 5 } }, []],
  [{ server: { port: 1, host: '::', heartbeatMs: 5 } }, ['server.heartbeatMs', 'server.host', 'server.port']],
  [{ storage: { ttlDays: 3, database: 'off' }, modelsFolder: '/m' }, ['modelsFolder', 'storage.database', 'storage.ttlDays']],
])('%j needs a restart for %j', (change, restart) => {
  expect(settingsForRestart(configSchema.parse({}), configSchema.parse(change))).toEqual(restart)
})
