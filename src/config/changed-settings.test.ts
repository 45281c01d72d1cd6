import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { settingsForRestart, withoutRestart } from './changed-settings.ts'
import { configSchema } from './schema.ts'

const fake = { engine: 'fake', id: 'm', script: 'from-request' } as const

test.each<[change: Parameters<typeof configSchema.parse>[0], restart: readonly string[]]>([
  [{}, []],
  [{ models: [fake], builtinModel: false, log: { level: 'debug' }, templates: '/t' }, []],
  [{ server: { apiKeys: ['k'], keyLimits: { requestsPerMinute: 1 }, allowedOrigins: ['*'], allowedHosts: ['h'] } }, []],
  [{ sampling: { presets: { calm: { temperature: { override: 0 } } }, preset: 'calm' }, limits: { queueMs: 5 } }, []],
  [{ server: { heartbeatMs: 5 }, memory: { budget: '1GB', minResidencyMs: 5, unloadAfterMs: 5 } }, []],
  [{ server: { port: 1, host: '::', streaming: false } }, ['server.host', 'server.port', 'server.streaming']],
  [{ storage: { ttlDays: 3, database: 'off' }, modelsFolder: '/m' }, ['modelsFolder', 'storage.database', 'storage.ttlDays']],
])('%j needs a restart for %j', (change, restart) => {
  expect(settingsForRestart(configSchema.parse({}), configSchema.parse(change))).toEqual(restart)
})

test('what needs a restart stays as it was, and the rest changes', () => {
  const before = configSchema.parse({ server: { host: '0.0.0.0', apiKeys: ['a'] }, modelsFolder: '/m' })
  const after = configSchema.parse({ server: { port: 1, adminKey: 'b' }, models: [fake], modelsFolder: '/n' })
  const { modelsFolder, models, server } = withoutRestart(before, after)
  expect([modelsFolder, models, server]).toEqual(['/m', after.models, { ...after.server, host: '0.0.0.0', port: 7411 }])
})

/** The settings of a section, or the setting itself. */
function settingsOf(section: string): readonly string[] {
  const schema = configSchema.shape[section as keyof typeof configSchema.shape] as { unwrap?(): { shape?: object } }
  const names = section === 'server' || section === 'log' ? Object.keys(schema.unwrap?.().shape ?? {}) : []
  return names.length === 0 ? [section] : names.map((name) => `${section}.${name}`)
}

test('docs/configuration.md names the settings that need a restart', () => {
  const text = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8')
  const named = /A restart is needed for: (.+?)\. The\s+server/s.exec(text)?.[1] ?? ''
  const documented = [...named.matchAll(/`([^`]+)`/g)].map(([, name]) => name)
  const settings = Object.keys(configSchema.shape).flatMap(settingsOf)
  const changed = (name: string): object => {
    const [section = '', setting] = name.split('.')
    return setting === undefined ? { [section]: Symbol() } : { [section]: { [setting]: Symbol() } }
  }
  const restart = settings.filter(
    (name) => settingsForRestart(name.includes('.') ? { [name.split('.')[0] ?? '']: {} } : {}, changed(name)).length > 0,
  )
  expect(documented.toSorted()).toEqual(restart.toSorted())
})
