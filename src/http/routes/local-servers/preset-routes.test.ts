import type { FastifyInstance } from 'fastify'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createTestServer } from '../../../../test/support/http/test-server.ts'
import { hashApiKey } from '../../../app/keys/made-keys.ts'
import type { Engine } from '../../../contract/engine.ts'
import { allScopes } from '../../../contract/principal.ts'
import type { GenerationRequest } from '../../../contract/request.ts'
import { PresetSwitch } from '../../../core/presets/preset-switch.ts'
import { readPreset } from '../../../dialect/presets/read-preset.ts'
import { createFakeEngine } from '../../../engine/fake/engine.ts'

const configured = new Map([
  ['calm', readPreset({ temperature: { override: 0 }, max_tokens: { override: 2, force: true } }, 'calm')],
  ['wild', readPreset({ temperature: { override: 2, force: true }, stop: { override: ['###'], additive: true } }, 'wild')],
])

let app: FastifyInstance
let seen: GenerationRequest[]

beforeEach(() => {
  seen = []
  const fake = createFakeEngine({ script: 'from-request' })
  const engine: Engine = {
    ...fake,
    state: { type: 'ready' },
    prepare: (request, signal) => {
      seen.push(request)
      return fake.prepare(request, signal)
    },
  }
  app = createTestServer({ engine, presets: new PresetSwitch(configured) }).app
})
afterEach(() => app.close())

async function call(method: 'GET' | 'POST', url: string, payload?: object) {
  const reply = await app.inject({ method, url, ...(payload !== undefined && { payload }) })
  return { status: reply.statusCode, json: reply.json(), headers: reply.headers }
}
const switchTo = (payload: object) => call('POST', '/v1/sampling/override/switch', payload)
const chat = (more: object = {}) =>
  call('POST', '/v1/chat/completions', {
    model: 'default',
    messages: [{ role: 'user', content: '{"chunks":["a ","b ","c ","d"]}' }],
    ...more,
  })

describe('sampler overrides', () => {
  test.each(['/v1/sampling/overrides', '/v1/sampling/override/list'])(
    'GET %s says what there is and what is in use',
    async (url) => {
      const presets = ['calm', 'wild']
      expect((await call('GET', url)).json).toEqual({ selected_preset: null, overrides: {}, presets })
      await switchTo({ preset: 'calm' })
      const overrides = { temperature: { override: 0 }, max_tokens: { override: 2, force: true } }
      expect((await call('GET', url)).json).toEqual({ selected_preset: 'calm', overrides, presets })
      await switchTo({ overrides: { top_k: { override: 0 }, top_p: { override: null } } })
      expect((await call('GET', url)).json).toEqual({ selected_preset: null, overrides: { top_k: { override: 0 } }, presets })
      expect((await call('POST', '/v1/sampling/override/unload')).json).toEqual({ selected_preset: null, overrides: {}, presets })
    },
  )

  test('a preset applies to chats and completions once it is switched on', async () => {
    await chat({ temperature: 1 })
    expect((await switchTo({ preset: 'calm' })).status).toBe(200)
    const { json, headers } = await chat({ max_tokens: 3 })
    expect(json.choices[0]).toMatchObject({ message: { content: 'a b ' }, finish_reason: 'length' })
    expect(headers['x-dragoman-preset']).toBe('calm')
    await call('POST', '/v1/completions', { model: 'default', prompt: 'a', temperature: 1 })
    await call('POST', '/v1/sampling/override/unload')
    expect((await chat()).headers['x-dragoman-preset']).toBeUndefined()
    expect(seen.map(({ sampling, maxOutputTokens }) => [sampling.temperature, maxOutputTokens])).toEqual([
      [1, undefined],
      [0, 2],
      [1, 2],
      [undefined, undefined],
    ])
  })

  test('unloading reports unknown fields, and accepts an empty body of any content type', async () => {
    const url = '/v1/sampling/override/unload'
    const named = await app.inject({ method: 'POST', url, payload: { preset: 'calm' } })
    expect([named.statusCode, named.headers['x-dragoman-ignored']]).toEqual([200, 'preset'])
    const headers = { 'content-type': 'application/json' }
    const empty = await app.inject({ method: 'POST', url, headers, payload: '' })
    expect([empty.statusCode, empty.headers['x-dragoman-ignored']]).toEqual([200, undefined])
  })

  test('overrides without a name apply, including falsy ones', async () => {
    await switchTo({ overrides: { top_k: { override: 0, force: true }, temperature: { override: 0, force: true } } })
    const { headers } = await chat({ top_k: 5, temperature: 1 })
    expect(headers['x-dragoman-preset']).toBe('unnamed')
    expect(seen[0]?.sampling).toMatchObject({ topK: 0, temperature: 0 })
  })

  test('stop sequences are added in a stream, too', async () => {
    await switchTo({ preset: 'wild' })
    await app.inject({
      method: 'POST',
      url: '/v1/chat/completions',
      payload: { model: 'default', messages: [{ role: 'user', content: 'hi' }], stop: 'END', stream: true },
    })
    expect(seen[0]).toMatchObject({ stop: ['###', 'END'], sampling: { temperature: 2 } })
  })

  test.each<[object, string, string]>([
    [{}, 'preset', 'preset and overrides are missing'],
    [{ preset: null, overrides: null }, 'preset', 'preset and overrides are missing'],
    [{ preset: 'none' }, 'preset', 'choose one of: calm, wild'],
    [{ preset: '../../etc/passwd' }, 'preset', 'choose one of: calm, wild'],
    [{ preset: 'constructor' }, 'preset', 'choose one of: calm, wild'],
    [{ preset: 'calm', overrides: {} }, 'preset', 'exclude each other'],
    [{ preset: 5 }, 'preset', 'a string'],
    [{ overrides: { temperature: { override: 15, force: true } } }, 'overrides.temperature', 'from 0 to 10'],
    [{ overrides: { temperature: 1 } }, 'overrides.temperature', 'an object'],
    [{ overrides: { temperature: { override: 1, forced: true } } }, 'overrides.temperature', 'forced'],
    [{ overrides: { nothing: { override: 1 } } }, 'overrides.nothing', 'not a request field'],
  ])('switching to %j is refused, and what was in use stays', async (body, param, message) => {
    await switchTo({ preset: 'wild' })
    const { status, json } = await switchTo(body)
    expect([status, json.error.param]).toEqual([400, param])
    expect(json.error.message).toContain(message)
    expect((await call('GET', '/v1/sampling/overrides')).json.selected_preset).toBe('wild')
  })

  test('an invalid field of the request is still refused', async () => {
    await switchTo({ preset: 'wild' })
    const { status, json } = await chat({ temperature: 19 })
    expect([status, json.error.param]).toEqual([400, 'temperature'])
  })

  test('all routes require a key when keys are configured', async () => {
    const engine = createFakeEngine({ script: 'from-request' })
    const guarded = createTestServer({ engine, auth: { apiKeys: [{ hash: hashApiKey('secret'), scopes: allScopes }] } })
    for (const url of ['/v1/sampling/override/switch', '/v1/sampling/override/unload']) {
      expect((await guarded.app.inject({ method: 'POST', url, payload: { preset: 'calm' } })).statusCode).toBe(401)
    }
    await guarded.app.close()
  })
})
