import { hash } from 'node:crypto'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openTestServer } from '../../../test/support/http/test-server.ts'
import { stubEngine } from '../../../test/support/upstream/stub-engine.ts'
import { AppError } from '../../contract/errors.ts'
import { createWrongKeyWatch } from './wrong-keys.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout'] }))
afterEach(() => void vi.useRealTimers())

const messages = [{ role: 'user', content: 'hi' }]

function watch() {
  const warnings: unknown[] = []
  return { warnings, note: createWrongKeyWatch({ warn: (facts: unknown) => void warnings.push(facts) }) }
}

test('many wrong keys are one warning a minute, with their count and where most of them come from', () => {
  const { warnings, note } = watch()
  for (let index = 0; index < 100; index += 1) note(index % 4 === 0 ? '10.0.0.1' : '10.0.0.2')
  for (const address of ['10.0.0.3', '10.0.0.4']) note(address)
  expect(warnings).toEqual([])
  vi.advanceTimersByTime(60_000)
  expect(warnings).toEqual([{ count: 102, addresses: { '10.0.0.2': 75, '10.0.0.1': 25, '10.0.0.3': 1 } }])
  note('10.0.0.1')
  vi.advanceTimersByTime(60_000)
  expect(warnings).toHaveLength(1)
})

test('the addresses of one minute are bounded', () => {
  const { warnings, note } = watch()
  for (let index = 0; index < 5000; index += 1) note(`10.0.${index >> 8}.${index & 255}`)
  vi.advanceTimersByTime(60_000)
  expect(warnings).toEqual([{ count: 5000, addresses: expect.objectContaining({ others: 4000 }) }])
})

test('a server counts requests with a key that is wrong, and none without a key, or with one that an upstream refuses', async () => {
  const apiKeys = [{ hash: hash('sha256', 'right'), scopes: new Set(['public', 'inference'] as const) }]
  const prepare = async () => {
    throw new AppError('unauthorized', 'the upstream does not accept it')
  }
  const { app, logLines } = openTestServer({ auth: { apiKeys }, engine: stubEngine({ prepare }) })
  const ask = (headers: Record<string, string>) => app.inject({ url: '/v1/models', headers })
  for (let index = 0; index < 40; index += 1) await ask({ authorization: 'Bearer wrong' })
  await ask({ 'x-api-key': 'right' })
  for (const headers of [{}, { authorization: 'Basic dTpw' }]) await ask(headers)
  const chat = { url: '/v1/chat/completions', headers: { 'x-api-key': 'right' } }
  const refused = await app.inject({ method: 'POST', ...chat, payload: { model: 'default', messages } })
  expect(refused.statusCode).toBe(401)
  vi.advanceTimersByTime(60_000)
  const warnings = logLines.map((line) => JSON.parse(line)).filter(({ level }) => level === 40)
  expect(warnings).toMatchObject([{ count: 40, addresses: { '127.0.0.1': 40 } }])
})
