import { expect, test } from 'vitest'
import type { ArrivedRequest, BegunGeneration, SentReply } from '../contract/tracing.ts'
import type { GenerationRecord } from '../contract/usage.ts'
import { encodeBatch } from './otlp.ts'
import { parseTraceparent, toTraceparent } from './trace-context.ts'
import { createTracing } from './tracing.ts'

type OtlpSpan = {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: { key: string; value: Record<string, unknown> }[]
  status?: { code: number }
}

const usage = { inputTokens: 20, cachedInputTokens: 12, outputTokens: 5, reasoningTokens: 2 }
const record: GenerationRecord = {
  id: 'chatcmpl-1',
  caller: 'agent',
  model: 'qwen',
  outcome: 'ok',
  durationMs: 900,
  usage,
  timings: { firstTokenMs: 250, queueMs: 40 },
  finishReasons: ['stop'],
}
const answered: SentReply = { status: 200, goesOn: false, replyId: 'chatcmpl-1', requestedModel: 'default', isStreamed: true }
const begun: BegunGeneration = {
  sampling: {},
  choices: 1,
  form: undefined,
  effort: undefined,
  maxOutputTokens: undefined,
  session: undefined,
}
const start = { server: '10.0.0.1:8000', kind: 'vllm', model: 'Qwen/Qwen3', retry: 0 }

function create(ratio = 1) {
  const spans: OtlpSpan[] = []
  let nowMs = 1000
  const tracing = createTracing({
    sampler: { ratio, followsParent: true },
    now: () => nowMs,
    epoch: () => 1_800_000_000_000,
    export: (span) => void spans.push(JSON.parse(span)),
  })
  const begin = (more: Partial<ArrivedRequest> = {}) => {
    const span = tracing.begin({ method: 'POST', route: '/v1/chat/completions', key: 'agent', parent: undefined, ...more })
    return span ?? expect.unreachable('it is not recorded')
  }
  return { tracing, begin, spans, pass: (ms: number) => (nowMs += ms) }
}

const attributesOf = ({ attributes }: OtlpSpan) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))

test('a request and its attempts are one trace, with what they cost', () => {
  const { begin, spans, pass } = create()
  const request = begin()
  request.generationBegan?.(begun)
  const attempt = request.beginAttempt?.(start)
  pass(700)
  attempt?.end({ outcome: 'ok', firstChunkMs: 200, usage, finishReasons: ['stop'] })
  request.generationEnded?.(record)
  pass(200)
  request.replied(answered)
  const [client, queue, server] = spans
  if (client === undefined || queue === undefined || server === undefined) return expect.unreachable()
  expect(client).toMatchObject({ traceId: server.traceId, parentSpanId: server.spanId, name: 'chat Qwen/Qwen3', kind: 3 })
  expect(attempt?.context.traceparent).toBe(`00-${server.traceId}-${client.spanId}-01`)
  expect(attributesOf(client)).toEqual({
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'vllm',
    'gen_ai.request.model': 'Qwen/Qwen3',
    'server.address': '10.0.0.1',
    'server.port': '8000',
    'http.response.status_code': '200',
    'gen_ai.response.finish_reasons': { values: [{ stringValue: 'stop' }] },
    'gen_ai.response.time_to_first_chunk': 0.2,
    'gen_ai.usage.input_tokens': '20',
    'gen_ai.usage.output_tokens': '5',
    'gen_ai.usage.cache_read.input_tokens': '12',
    'gen_ai.usage.reasoning.output_tokens': '2',
  })
  expect(queue).toMatchObject({
    parentSpanId: server.spanId,
    name: 'queue qwen',
    kind: 1,
    startTimeUnixNano: server.startTimeUnixNano,
  })
  expect(BigInt(queue.endTimeUnixNano) - BigInt(queue.startTimeUnixNano)).toBe(40_000_000n)
  expect(server).toMatchObject({ name: 'chat qwen', kind: 2 })
  expect(server).not.toHaveProperty('parentSpanId')
  expect(server).not.toHaveProperty('status')
  expect(BigInt(server.endTimeUnixNano) - BigInt(server.startTimeUnixNano)).toBe(900_000_000n)
  expect(attributesOf(server)).toEqual({
    'http.request.method': 'POST',
    'http.route': '/v1/chat/completions',
    'http.response.status_code': '200',
    'dragoman.key': 'agent',
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'dragoman',
    'gen_ai.request.model': 'default',
    'gen_ai.request.stream': true,
    'gen_ai.response.model': 'qwen',
    'gen_ai.response.id': 'chatcmpl-1',
    'gen_ai.response.finish_reasons': { values: [{ stringValue: 'stop' }] },
    'gen_ai.response.time_to_first_chunk': 0.25,
    'dragoman.queue.duration': 0.04,
    'gen_ai.usage.input_tokens': '20',
    'gen_ai.usage.output_tokens': '5',
    'gen_ai.usage.cache_read.input_tokens': '12',
    'gen_ai.usage.reasoning.output_tokens': '2',
    'openinference.span.kind': 'LLM',
    'llm.system': 'dragoman',
    'llm.model_name': 'qwen',
    'llm.token_count.prompt': '20',
    'llm.token_count.completion': '5',
    'llm.token_count.total': '25',
    'llm.token_count.prompt_details.cache_read': '12',
    'llm.token_count.completion_details.reasoning': '2',
  })
})

test('a span says how the prompt differs from the turn before, without names that a caller wrote', () => {
  const { begin, spans } = create()
  const request = begin()
  request.generationBegan?.(begun)
  const at = ['prompt', 'templateVariables', 'plover']
  const diverged = { at, part: 'setting', kind: 'value', missedTokens: 900 } as const
  request.generationEnded?.({ ...record, diverged })
  request.replied(answered)
  expect(attributesOf(spans.at(-1) ?? expect.unreachable())).toMatchObject({
    'dragoman.prompt.diverged_at': 'prompt.templateVariables',
    'dragoman.prompt.diverged_part': 'setting',
    'dragoman.prompt.change': 'value',
    'dragoman.prompt.missed_tokens': '900',
  })
})

test('the span of a request says what it asks for, with doubles where the conventions have them', () => {
  const { begin, spans } = create()
  const request = begin()
  const sampling = { temperature: 1, topP: 0.5, topK: 40, seed: 7 }
  request.generationBegan?.({ sampling, choices: 2, form: 'json', effort: 'low', maxOutputTokens: 10, session: 'thread-1' })
  request.generationEnded?.({ ...record, timings: { firstTokenMs: 1000, queueMs: 0 } })
  request.replied(answered)
  const [span] = spans
  expect(Object.fromEntries((span as OtlpSpan).attributes.map(({ key, value }) => [key, value]))).toMatchObject({
    'gen_ai.request.stream': { boolValue: true },
    'gen_ai.request.choice.count': { intValue: '2' },
    'gen_ai.request.seed': { intValue: '7' },
    'gen_ai.request.max_tokens': { intValue: '10' },
    'gen_ai.request.temperature': { doubleValue: 1 },
    'gen_ai.request.top_p': { doubleValue: 0.5 },
    'gen_ai.request.top_k': { doubleValue: 40 },
    'gen_ai.request.reasoning.level': { stringValue: 'low' },
    'gen_ai.output.type': { stringValue: 'json' },
    'gen_ai.conversation.id': { stringValue: 'thread-1' },
    'gen_ai.response.time_to_first_chunk': { doubleValue: 1 },
    'dragoman.queue.duration': { doubleValue: 0 },
  })
})

test('a whole reply has no first chunk', () => {
  const { begin, spans } = create()
  const request = begin()
  request.generationBegan?.(begun)
  request.generationEnded?.(record)
  request.replied({ ...answered, isStreamed: false })
  expect(attributesOf(spans[1] as OtlpSpan)).not.toHaveProperty('gen_ai.response.time_to_first_chunk')
  expect(attributesOf(spans[1] as OtlpSpan)).not.toHaveProperty('gen_ai.request.stream')
})

test('a tool that the server runs has a span within that of its request', () => {
  const { begin, spans, pass } = create()
  const request = begin()
  const span = request.beginTool?.({ name: 'web_search', id: 'call_1' })
  pass(300)
  span?.end('timeout')
  request.replied(answered)
  const [tool, server] = spans
  expect(tool).toMatchObject({ parentSpanId: server?.spanId, name: 'execute_tool web_search', kind: 1, status: { code: 2 } })
  expect(attributesOf(tool as OtlpSpan)).toEqual({
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'web_search',
    'gen_ai.tool.call.id': 'call_1',
    'gen_ai.tool.type': 'extension',
    'error.type': 'timeout',
    'openinference.span.kind': 'TOOL',
    'tool.id': 'call_1',
    'tool.name': 'web_search',
  })
})

test('the trace of a caller is continued, with its state', () => {
  const { begin, spans } = create()
  const [traceId, spanId] = ['a'.repeat(32), 'b'.repeat(16)]
  const request = begin({ parent: { traceparent: `00-${traceId}-${spanId}-01`, tracestate: 'vendor=1' } })
  expect(request.traceparent).toMatch(`00-${traceId}-`)
  expect(request.beginAttempt?.(start).context.tracestate).toBe('vendor=1')
  request.replied(answered)
  expect(spans[0]).toMatchObject({ traceId, parentSpanId: spanId, traceState: 'vendor=1' })
})

test('a caller that does not sample its trace, and a share of the others, are not recorded', () => {
  const { tracing } = create()
  const parent = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-00` }
  expect(tracing.begin({ method: 'POST', route: '/', key: 'k', parent })).toBeUndefined()
  expect(create(0).tracing.begin({ method: 'POST', route: '/', key: 'k', parent: undefined })).toBeUndefined()
})

test.each(['', '00-1-2-01', `00-${'0'.repeat(32)}-${'b'.repeat(16)}-01`, `ff-${'a'.repeat(32)}-${'b'.repeat(16)}-01`])(
  'the parent %j is none',
  (text) => expect(parseTraceparent(text)).toBeUndefined(),
)

test('a parent is written as it was read', () => {
  const text = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
  const read = parseTraceparent(text)
  expect(read && toTraceparent(read)).toBe(text)
  expect(parseTraceparent(`01-${'a'.repeat(32)}-${'b'.repeat(16)}-00-more`)?.isSampled).toBe(false)
})

test.each<[string, SentReply, GenerationRecord['outcome'] | undefined, { type: string | undefined; failed: boolean }]>([
  ['refused', { status: 400, goesOn: false }, undefined, { type: '400', failed: false }],
  [
    'too long for the model',
    { status: 400, goesOn: false },
    'context-length-exceeded',
    { type: 'context-length-exceeded', failed: false },
  ],
  ['failed before its first token', { status: 502, goesOn: false }, 'upstream-failed', { type: 'upstream-failed', failed: true }],
  ['broken off in its stream', { status: 200, goesOn: false }, 'upstream-failed', { type: 'upstream-failed', failed: true }],
  ['left by its client', { status: 499, goesOn: false }, 'cancelled', { type: 'cancelled', failed: false }],
])('a request that was %s says so', (_, reply, outcome, { type, failed }) => {
  const { begin, spans } = create()
  const request = begin()
  if (outcome !== undefined) {
    request.generationBegan?.(begun)
    request.generationEnded?.({ id: 'r', caller: 'agent', model: 'qwen', outcome, durationMs: 1 })
  }
  request.replied(reply)
  expect(spans.map(attributesOf)).toMatchObject([{ 'error.type': type }])
  expect(spans[0]?.status?.code).toBe(failed ? 2 : undefined)
})

test.each([
  ['500', 'failed', '500'],
  ['connection', 'failed', undefined],
  ['429', 'busy', '429'],
] as const)('an attempt that failed by %s says how, without a text', (error, outcome, status) => {
  const { begin, spans } = create()
  begin()
    .beginAttempt?.({ ...start, server: '[::1]:8000', retry: 2 })
    .end({ outcome, error })
  const [span] = spans
  expect(span?.status?.code).toBe(2)
  expect(attributesOf(span as OtlpSpan)).toMatchObject({
    'error.type': error,
    'http.request.resend_count': '2',
    'server.address': '[::1]',
    ...(status !== undefined && { 'http.response.status_code': status }),
  })
})

test('the span of a background response ends with its generation', () => {
  const { begin, spans } = create()
  const request = begin({ route: '/v1/responses' })
  request.replied({ ...answered, goesOn: true })
  expect(spans).toEqual([])
  request.generationBegan?.(begun)
  request.generationEnded?.(record)
  expect(spans.map(({ name }) => name)).toEqual(['queue qwen', 'chat qwen'])
})

test('the record of a hang-up comes after the end of the reply, and still counts', () => {
  const { begin, spans } = create()
  const request = begin()
  request.generationBegan?.(begun)
  request.replied({ status: 499, goesOn: false })
  expect(spans).toEqual([])
  request.generationEnded?.({ ...record, outcome: 'cancelled' })
  expect(spans.slice(1).map(attributesOf)).toMatchObject([{ 'error.type': 'cancelled', 'gen_ai.usage.output_tokens': '5' }])
})

test.each([
  ['/v1/embeddings', 'embeddings qwen'],
  ['/v1/completions', 'text_completion qwen'],
  ['/v1/messages', 'chat qwen'],
  ['/v1/rerank', 'POST /v1/rerank'],
])('the span of %s is called %s', (route, name) => {
  const { begin, spans } = create()
  const request = begin({ route })
  request.servedBy?.('qwen')
  request.replied({ status: 200, goesOn: false })
  expect(spans[0]?.name).toBe(name)
})

test('names with quotes stay what they are', () => {
  const { begin, spans } = create()
  const request = begin({
    key: 'the "agent"',
    parent: { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: 'x="1"' },
  })
  request.servedBy?.('a "model"')
  request.replied({ ...answered, requestedModel: 'x\n"y"' })
  const [span] = spans
  expect(span).toMatchObject({ name: 'chat a "model"', traceState: 'x="1"' })
  expect(attributesOf(span as OtlpSpan)).toMatchObject({ 'dragoman.key': 'the "agent"', 'gen_ai.request.model': 'x\n"y"' })
})

test('a batch names its service once', () => {
  const batch = JSON.parse(
    encodeBatch(['{"a":1}', '{"a":2}'], { resource: { 'service.name': 'gateway', 'a "b"': 'c "d"' }, version: '1.2.3' }),
  )
  const schemaUrl = expect.stringMatching(/^https:\/\/opentelemetry\.io\/schemas\/\d/)
  expect(batch).toEqual({
    resourceSpans: [
      {
        resource: {
          attributes: [
            { key: 'service.name', value: { stringValue: 'gateway' } },
            { key: 'a "b"', value: { stringValue: 'c "d"' } },
          ],
        },
        schemaUrl,
        scopeSpans: [{ scope: { name: 'dragoman', version: '1.2.3' }, schemaUrl, spans: [{ a: 1 }, { a: 2 }] }],
      },
    ],
  })
})
