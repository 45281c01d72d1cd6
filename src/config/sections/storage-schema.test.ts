import { describe, expect, test } from 'vitest'
import { type ConfigInput, configFromObject } from '../load.ts'
import { applyOverrides, collectOverrides } from '../overrides.ts'

const bases = { env: {}, cwd: '/work', userHome: '/home/me', needsModel: false }
const storageOf = (storage: ConfigInput['storage']) =>
  configFromObject({ ...(storage !== undefined && { storage }) }, bases).storage
const defaults = { ttlDays: 30, conversationTtlDays: 'never', chatCompletions: 'asked', maxBytes: 4_294_967_296 }

describe('storage', () => {
  test('storage is on without a setting: responses for 30 days, conversations until they are deleted', () => {
    expect(storageOf(undefined)).toEqual(defaults)
  })

  test.each([
    ['off', 'off'],
    ['kept.db', '/work/kept.db'],
    ['~/kept.db', '/home/me/kept.db'],
    ['postgres://u:secret@db.internal:5432/d', 'postgres://u:secret@db.internal:5432/d'],
    ['postgresql://db.internal/d', 'postgresql://db.internal/d'],
  ])('%s is a database', (text, database) => {
    expect(storageOf(text)).toEqual({ ...defaults, database })
    expect(storageOf({ database: text, ttlDays: 'never' })).toEqual({ ...defaults, database, ttlDays: 'never' })
  })

  test.each([
    [{ ttlDays: 0 }, 'storage.ttlDays: must be more than 0, got 0'],
    [{ maxBytes: 0 }, 'storage.maxBytes: must be at least 1, got 0'],
    ['mysql://u:secret@h/d', 'storage: must be `off`, a file, or a URL such as postgres://user:password@host:5432/name'],
    [{ database: 'postgres://u:secret@h:x/d' }, 'storage.database: must be `off`, a file, or a URL'],
  ] as const)('%j is refused, and no password is quoted', (storage, problem) => {
    expect(() => storageOf(storage)).toThrow(problem)
    expect(() => storageOf(storage)).not.toThrow('secret')
  })

  test.each([
    ['off', { database: 'env.db' }],
    [
      { database: 'file.db', ttlDays: 1 },
      { database: 'env.db', ttlDays: 1 },
    ],
  ])('DRAGOMAN_STORAGE wins over %j, which keeps its other settings', (storage, expected) => {
    const overrides = collectOverrides({}, { DRAGOMAN_STORAGE: 'env.db' })
    expect(applyOverrides({ storage }, overrides)).toEqual({ storage: expected })
  })
})
