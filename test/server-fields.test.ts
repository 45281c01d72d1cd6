import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp } from './support/http/app.ts'
import { fine } from './support/upstream/remote-engine.ts'
import { type ScriptedUpstream, startUpstream } from './support/upstream/upstream.ts'

const kinds = ['vllm', 'sglang', 'dragoman', 'openai', 'llama-server', 'ollama'] as const
const vllm = {
  repetition_detection: { max_pattern_size: 8, min_count: 3 },
  vllm_xargs: { a: 1 },
  mm_processor_kwargs: { num_crops: 4 },
  media_io_kwargs: { video: { num_frames: 2 } },
  spaces_between_special_tokens: false,
  add_special_tokens: true,
  bad_words: ['a'],
}
const sglang = {
  custom_logit_processor: '{"callable":"x"}',
  custom_params: { a: 1 },
  session_params: { id: 's' },
  min_dynamic_patch: 1,
  max_dynamic_patch: 2,
  use_audio_in_video: true,
  stop_regex: ['a+'],
}
const both = { stop_token_ids: [7] }
/** The same as nothing. */
const off = {
  vllm_xargs: {},
  custom_logit_processor: '',
  stop_regex: '',
  stop_token_ids: [],
  use_audio_in_video: false,
  spaces_between_special_tokens: true,
  custom_params: null,
}

let upstream: ScriptedUpstream
let app: RunningApp

beforeAll(async () => {
  upstream = await startUpstream(fine)
  const remote = kinds.map((server) => {
    return {
      id: server,
      engine: 'remote' as const,
      endpoints: [{ url: upstream.url }],
      upstreamModel: 'up',
      probe: false,
      server,
    }
  })
  app = await startApp({
    builtinModel: false,
    models: [...remote, { id: 'fake', engine: 'fake' as const, script: 'from-request' }],
  })
})

afterAll(async () => {
  await app.close()
  await upstream.close()
})

async function ask(path: string, body: object) {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(app.url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  const { error } = (await response.json()) as { readonly error?: { readonly param: string; readonly message: string } | null }
  const said = error ? { said: error.message } : {}
  return { status: response.status, param: error?.param, ignored: response.headers.get('x-dragoman-ignored'), ...said }
}

describe.each([
  ['/v1/chat/completions', { messages: [{ role: 'user', content: 'hi' }] }],
  ['/v1/completions', { prompt: 'hi' }],
  ['/v1/responses', { input: 'hi' }],
])('fields of one kind of server at %s', (path, asked) => {
  test.each([
    ['vllm', vllm, sglang],
    ['sglang', sglang, vllm],
  ])('%s gets its own, and is not sent those of others', async (model, own, others) => {
    expect(await ask(path, { model, ...asked, ...own, ...both })).toEqual({ status: 200, param: undefined, ignored: null })
    expect(upstream.seen.at(-1)?.body).toMatchObject({ ...own, ...both })
    for (const [name, value] of Object.entries(others)) {
      expect(await ask(path, { model, ...asked, [name]: value })).toMatchObject({ status: 400, param: name })
    }
  })

  test('another Dragoman gets all of them', async () => {
    expect(await ask(path, { model: 'dragoman', ...asked, ...vllm, ...sglang })).toMatchObject({ status: 200 })
    expect(upstream.seen.at(-1)?.body).toMatchObject({ ...vllm, ...sglang })
  })

  test.each(['openai', 'llama-server', 'ollama', 'fake'])('%s refuses them by name, unless they mean nothing', async (model) => {
    for (const [name, value] of Object.entries({ ...vllm, ...sglang })) {
      expect(await ask(path, { model, ...asked, [name]: value })).toMatchObject({ status: 400, param: name })
    }
    expect(await ask(path, { model, ...asked, ...off })).toEqual({ status: 200, param: undefined, ignored: null })
  })

  test.each([{ stop: [1, 'x'] }, { stop_token_ids: [1] }])('openai knows stop sequences, but no token ids: %j', async (stop) => {
    const [param] = Object.keys(stop)
    const said = expect.stringContaining(`ends no output at token ids: leave them out of ${param}`)
    expect(await ask(path, { model: 'openai', ...asked, ...stop })).toMatchObject({ status: 400, param, said })
  })

  test("a guard against loops, tabbyAPI's default, is named as ignored", async () => {
    const body = { model: 'vllm', ...asked, loop_detect_window: 800 }
    expect(await ask(path, body)).toEqual({ status: 200, param: undefined, ignored: 'loop_detect_window' })
    expect(upstream.seen.at(-1)?.body).not.toHaveProperty('loop_detect_window')
  })
})

const hi = { messages: [{ role: 'user', content: 'hi' }] }
const shown = { skip_special_tokens: false }
const bare = { add_bos_token: false }

test.each([
  ['vllm', '/v1/chat/completions', { ...hi, ...shown }, shown],
  ['sglang', '/v1/chat/completions', { ...hi, ...shown }, shown],
  ['dragoman', '/v1/responses', { input: 'hi', ...shown }, shown],
  ['vllm', '/v1/completions', { prompt: 'hi', ...bare }, { add_special_tokens: false }],
  ['vllm', '/completion', { prompt: 'hi', ...bare }, { add_special_tokens: false }],
  ['dragoman', '/api/v1/generate', { prompt: 'hi', ...bare }, bare],
])('%s gets what is said of special tokens at %s: %j', async (model, path, body, fields) => {
  expect(await ask(path, { model, ...body })).toMatchObject({ status: 200, ignored: null })
  expect(upstream.seen.at(-1)?.body).toMatchObject(fields)
})

test.each([
  ['openai', '/v1/chat/completions', { ...hi, ...shown }, 'skip_special_tokens'],
  ['fake', '/v1/responses', { input: 'hi', ...shown }, 'skip_special_tokens'],
  ['sglang', '/v1/completions', { prompt: 'hi', ...bare }, 'add_bos_token'],
  ['fake', '/v1/completions', { prompt: 'hi', ...bare }, 'add_bos_token'],
])('%s refuses it by name at %s: %j', async (model, path, body, param) => {
  expect(await ask(path, { model, ...body })).toMatchObject({ status: 400, param })
})
