import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { textsOf } from '../../../../test/support/parts.ts'
import { cpuMsOf } from '../../../../test/support/process/cpu-time.ts'
import {
  answer,
  ask,
  engineOver,
  failure,
  fine,
  logLines,
  refusing,
  upstream,
} from '../../../../test/support/upstream/remote-engine.ts'
import { streamOf } from '../../../../test/support/upstream/upstream.ts'
import { parseRetryAfter, statusFailed } from './failed-request.ts'

const html = '<!doctype html><html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>'

describe('error replies', () => {
  test.each([
    [400, '{"error":{"message":"no such thing"}}', { code: 'invalid-request', message: 'no such thing' }],
    [422, '{"detail":[{"msg":"field required"}]}', { code: 'invalid-request' }],
    [413, '', { code: 'body-too-large' }],
    [401, '{"error":{"message":"Incorrect API key provided: sk-very-secret"}}', { code: 'model-unavailable' }],
    [403, 'forbidden', { code: 'model-unavailable' }],
    [404, '{"detail":"Not Found"}', { code: 'unsupported-field', at: ['model'] }],
    [404, '{"error":{"message":"there is no route POST /v1/models/x","code":"unknown_url"}}', { code: 'unsupported-field' }],
    [404, '{"error":{"message":"The model `up` does not exist","code":"model_not_found"}}', { code: 'model-unavailable' }],
    [405, '', { code: 'unsupported-field' }],
    [501, '{"error":{"message":"This server does not support it"}}', { code: 'unsupported-field' }],
    [408, 'Request Timeout', { code: 'upstream-timeout' }],
    [504, html, { code: 'upstream-timeout' }],
    [502, '{"error":{"message":"it is no JSON","code":"invalid_output"}}', { code: 'invalid-output' }],
    [301, '', { code: 'model-unavailable' }],
    [429, '{"error":"slow down"}', { code: 'queue-full' }],
    [500, html, { code: 'upstream-failed', message: 'the server behind this model failed: 502 Bad Gateway' }],
    [
      500,
      JSON.stringify({
        error: {
          message: '\n---\nWhile executing CallExpression at line 85, column 32 in source:\n…\nError: Jinja Exception: roles!',
        },
      }),
      { code: 'template-failed', message: "the model's chat template cannot render this conversation: roles!" },
    ],
    [500, 'echo sk-very-secret', { code: 'upstream-failed' }],
    [503, '{"error":{"message":"Loading model"}}', { code: 'model-unavailable' }],
  ])('status %i with %s is reported in our words', async (status, body, wanted) => {
    logLines.length = 0
    const server = await upstream(refusing(status, body, { location: 'http://elsewhere/v1?key=abc' }))
    const error = await failure(engineOver([server]))
    expect(error).toMatchObject(wanted)
    expect(`${error.message}${logLines.join('')}`).not.toContain('sk-very-secret')
    expect(error.message).not.toContain('key=abc')
    expect(error.message).not.toContain('<')
  })

  test.each([
    [
      "vLLM's, with the output's share",
      "This model's maximum context length is 1024 tokens. However, you requested 512 output tokens and your prompt contains 600 input tokens, for a total of 1112 tokens.",
      { contextLength: 1024, inputTokens: 600, outputTokens: 512 },
    ],
    [
      "vLLM's, of an output",
      "'max_tokens' or 'max_completion_tokens' is too large: 512. This model's maximum context length is 1024 tokens and your request has 600 input tokens (512 > 1024 - 600).",
      { contextLength: 1024, inputTokens: 600, outputTokens: 512 },
    ],
    [
      "vLLM's, of a prompt that was not read to its end",
      "This model's maximum context length is 1024 tokens. However, you requested 1 output tokens and your prompt contains at least 1025 input tokens.",
      { contextLength: 1024, inputTokens: 1025, outputTokens: 1 },
    ],
    [
      "vLLM's, with no output named",
      "This model's maximum context length is 1024 tokens. However, your request has 2000 input tokens.",
      { contextLength: 1024, inputTokens: 2000 },
    ],
    [
      "OpenAI's",
      "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4500 in the messages, 500 in the completion).",
      { contextLength: 4096, inputTokens: 4500, outputTokens: 500 },
    ],
    [
      "OpenAI's, of a completion",
      "This model's maximum context length is 4097 tokens, however you requested 4222 tokens (1222 in your prompt; 3000 for the completion).",
      { contextLength: 4097, inputTokens: 1222, outputTokens: 3000 },
    ],
    [
      "OpenRouter's",
      "This endpoint's maximum context length is 131072 tokens. However, you requested about 137812 tokens (5000 of text input, 132812 in the output).",
      { contextLength: 131_072, inputTokens: 5000, outputTokens: 132_812 },
    ],
    [
      "OpenAI's, of messages alone",
      "This model's maximum context length is 4097 tokens. However, your messages resulted in 7575 tokens.",
      { contextLength: 4097, inputTokens: 7575 },
    ],
    [
      "llama-server's",
      'request (300 tokens) exceeds the available context size (256 tokens), try increasing it',
      { contextLength: 256, inputTokens: 300 },
    ],
    [
      "SGLang's",
      "Input length (900 tokens) is too long. The input (900 tokens) is longer than the model's context length (512 tokens).",
      { contextLength: 512, inputTokens: 900 },
    ],
    [
      "SGLang's, of its scheduler",
      'Input length (900 tokens) exceeds the maximum allowed length (512 tokens).',
      { contextLength: 512, inputTokens: 900 },
    ],
    [
      "SGLang's, of both",
      "Requested token count exceeds the model's maximum context length of 1000 tokens. You requested a total of 1206 tokens: 6 tokens from the input messages and 1200 tokens for the completion.",
      { contextLength: 1000, inputTokens: 6, outputTokens: 1200 },
    ],
    [
      "Anthropic's",
      'input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or `max_tokens` and try again',
      { contextLength: 200_000, inputTokens: 178_959, outputTokens: 64_000 },
    ],
    [
      "TGI's",
      'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 3923 `inputs` tokens and 200 `max_new_tokens`',
      { contextLength: 4096, inputTokens: 3923, outputTokens: 200 },
    ],
    [
      "TGI's, of a prompt",
      'Input validation error: `inputs` must have less than 1024 tokens. Given: 1400',
      { contextLength: 1024, inputTokens: 1400 },
    ],
    ["Fireworks'", 'The prompt is too long: 600, model maximum context length: 500', { contextLength: 500, inputTokens: 600 }],
    [
      "xAI's",
      "This model's maximum prompt length is 500 but the request contains 600 tokens.",
      { contextLength: 500, inputTokens: 600 },
    ],
    [
      "Google's",
      'The input token count (600) exceeds the maximum number of tokens allowed (500).',
      { contextLength: 500, inputTokens: 600 },
    ],
  ])('a context overflow is recognised in words like %s', async (_, message, overflow) => {
    const server = await upstream(refusing(400, JSON.stringify({ error: { message } })))
    const error = await failure(engineOver([server]))
    expect([error.code, error.overflow]).toEqual(['context-length-exceeded', overflow])
  })

  test.each([
    [
      'OpenAI',
      'max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.',
      16_384,
    ],
    ['SGLang', 'max_completion_tokens is too large: 100000.This model supports at most 4096 completion tokens.', 4096],
    ['Anthropic', 'max_tokens: 128001 > 64000, which is the maximum allowed number of output tokens for claude-opus-4-5', 64_000],
    ['TGI', 'Input validation error: `max_new_tokens` must be <= 512. Given: 600', 512],
    [
      'Groq',
      '`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the `context_window`',
      8192,
    ],
    ['DeepSeek', 'Invalid max_tokens value, the valid range of max_tokens is [1, 8192]', 8192],
    // The context must stay above the sum.
    [
      'SGLang, of both',
      'maximum context length of 1000 tokens. You requested a total of 1206 tokens: 6 tokens from the input messages and 1200 tokens for the completion.',
      993,
    ],
  ])('what %s takes at most of an output is read from its words', (_, said, mostOutputTokens) => {
    const { failure } = statusFailed({ status: 400, said, retryAfter: undefined, host: 'x' })
    expect(failure).toMatchObject({ mostOutputTokens })
  })

  test.each([
    ['digits', '1'.repeat(60_000)],
    ['counts', '1 tokens'.repeat(7000)],
    ['limits', 'maximum context length is 1 tokens '.repeat(1500)],
  ])('a message full of %s is parsed in linear time', async (_, text) => {
    const said = JSON.stringify({ error: { message: text } })
    // Quadratic time was ten seconds.
    const cpuMs = await cpuMsOf(() => statusFailed({ status: 400, said, retryAfter: undefined, host: 'x' }))
    expect(cpuMs).toBeLessThan(1000)
  })

  test('Retry-After is passed on', async () => {
    const server = await upstream(refusing(429, '{}', { 'retry-after': '120' }))
    expect(await failure(engineOver([server]))).toMatchObject({ code: 'queue-full', retryAfterMs: 120_000 })
    expect(server.seen).toHaveLength(1)
  })

  test.each([
    ['an endless page', 'x'.repeat(5_000_000), {}],
    ['a compressed page', gzipSync('boom'), { 'content-encoding': 'gzip' }],
  ])('%s is reported by its status', async (_, body, headers) => {
    const server = await upstream(refusing(400, body, headers))
    const error = await failure(engineOver([server]))
    expect(error.code).toBe('invalid-request')
    expect(error.message.length).toBeLessThan(600)
    expect(error.message).toMatch(/^[ -~…]*$/)
  })

  test.each([
    ['a page instead of a reply', refusing(200, html, { 'content-type': 'text/html' })],
    ['a compressed reply', refusing(200, gzipSync('{}'), { 'content-encoding': 'gzip' })],
    ['an error in a reply that is not streamed', refusing(200, '{"error":{"message":"boom"}}')],
    ['an error as the first event', streamOf('data: {"error":{"message":"boom","code":500}}\n\n')],
    ['an event named error', streamOf('event: error\ndata: {"message":"boom"}\n\n')],
    ["vLLM's older error", streamOf('data: {"object":"error","message":"boom","code":500}\n\n')],
    ['an empty stream', streamOf()],
    ['a rejected key', refusing(401, '')],
    ['a missing model', refusing(404, '')],
  ])('%s is retried on another server', async (_, bad) => {
    const [broken, sound] = [await upstream(bad), await upstream(fine)]
    const engine = engineOver([broken, sound])
    for (let turn = 0; turn < 3; turn++) expect(textsOf(await answer(engine, ask(`hi ${turn}`)))).toEqual(['ok'])
    expect(broken.seen.length).toBeGreaterThan(0)
  })

  test.each([
    ['a code', { message: 'bad schema', code: 400 }],
    ['a type', { message: 'bad schema', type: 'invalid_request_error' }],
  ])("an error in a stream that blames the request, by %s, is the client's", async (_, error) => {
    const server = await upstream(streamOf(`data: ${JSON.stringify({ error })}\n\n`))
    expect(await failure(engineOver([server]))).toMatchObject({ code: 'invalid-request', message: 'bad schema' })
    expect(server.seen).toHaveLength(1)
  })

  test.each([
    [{ type: 'tokens', code: 'rate_limit_exceeded' }, 'queue-full'],
    [{ type: 'insufficient_quota', code: 'insufficient_quota' }, 'queue-full'],
    [{ type: 'overloaded_error' }, 'model-unavailable'],
    [{ type: 'service_unavailable_error', code: 'server_is_overloaded' }, 'model-unavailable'],
    [{ type: 'timeout_error' }, 'upstream-timeout'],
    [{ type: 'server_error', code: null }, 'upstream-failed'],
    [{ type: 'server_error', code: 'invalid_output' }, 'invalid-output'],
  ])('the type of an error in a stream decides its code: %j', async (words, code) => {
    const server = await upstream(streamOf(`data: ${JSON.stringify({ error: { message: 'later', ...words } })}\n\n`))
    expect(await failure(engineOver([server]))).toMatchObject({ code })
  })
})

const epochMs = Date.UTC(1994, 10, 6, 8, 49, 30)

test.each([
  { value: '0', ms: 0 },
  { value: ' 3 ', ms: 3000 },
  { value: '0.25', ms: 250 },
  { value: '99999999999', ms: 86_400_000 },
  { value: `${'9'.repeat(400)}`, ms: 86_400_000 },
  { value: 'Sun, 06 Nov 1994 08:49:37 GMT', ms: 7000 },
  { value: 'Sunday, 06-Nov-94 08:49:37 GMT', ms: 7000 },
  { value: 'Sun Nov  6 08:49:37 1994', ms: 7000 },
  { value: 'Sun, 06 Nov 1994 08:49:00 GMT', ms: 0 },
  { value: 'Sun, 06 Nov 2094 08:49:00 GMT', ms: 86_400_000 },
  { value: '', ms: undefined },
  { value: '-1', ms: undefined },
  { value: '1e3', ms: undefined },
  { value: 'soon', ms: undefined },
  { value: 'Sunday', ms: undefined },
])('Retry-After: $value', ({ value, ms }) => {
  expect(parseRetryAfter(value, epochMs)).toBe(ms)
})
