import { afterEach, expect, test, vi } from 'vitest'
import { type RunningApp, startApp } from '../../../test/support/http/app.ts'
import { startCollector } from '../../../test/support/http/collector.ts'
import { openSocket } from '../../../test/support/http/responses-socket.ts'

/** What spans may say. Of these, a caller writes only the name of a model. */
const allowed = [
  'dragoman.batch.id',
  'dragoman.key',
  'dragoman.prompt.change',
  'dragoman.prompt.diverged_at',
  'dragoman.prompt.diverged_part',
  'dragoman.prompt.missed_tokens',
  'dragoman.queue.duration',
  'error.type',
  'gen_ai.operation.name',
  'gen_ai.provider.name',
  'gen_ai.request.model',
  'gen_ai.request.max_tokens',
  'gen_ai.request.stream',
  'gen_ai.response.finish_reasons',
  'gen_ai.response.id',
  'gen_ai.response.model',
  'gen_ai.response.time_to_first_chunk',
  'gen_ai.usage.cache_read.input_tokens',
  'gen_ai.usage.input_tokens',
  'gen_ai.usage.output_tokens',
  'gen_ai.usage.reasoning.output_tokens',
  'http.request.method',
  'http.request.resend_count',
  'http.response.status_code',
  'http.route',
  'llm.invocation_parameters',
  'llm.model_name',
  'llm.system',
  'llm.token_count.completion',
  'llm.token_count.completion_details.reasoning',
  'llm.token_count.prompt',
  'llm.token_count.prompt_details.cache_read',
  'llm.token_count.total',
  'openinference.span.kind',
  'server.address',
  'server.port',
]

const secret = 'the answer is plover'
const apps: RunningApp[] = []

afterEach(async () => {
  vi.unstubAllEnvs()
  await Promise.all(apps.splice(0).map((app) => app.close()))
})

async function start(settings: Parameters<typeof startApp>[0]) {
  const app = await startApp({ builtinModel: false, ...settings })
  apps.push(app)
  return app
}

const scripted = () => start({ models: [{ engine: 'fake', id: 'scripted', script: 'from-request' }] })

/** A Dragoman in front of another one. */
async function chain() {
  const behind = await scripted()
  const front = await start({
    models: [
      { engine: 'remote', id: 'chained', endpoints: [{ url: `${behind.url}/v1` }], upstreamModel: 'scripted', load: 'start' },
    ],
  })
  return { front, behind }
}

const post = (url: string, body: object, headers: Record<string, string> = {}) =>
  fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) })

const chat = (model: string, more: object = {}) => ({ model, messages: [{ role: 'user', content: secret }], ...more })

test('one trace goes from the client through two Dragomans, without a text', async () => {
  const collector = await startCollector()
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', collector.url)
  const { front } = await chain()
  const traceId = 'a'.repeat(32)
  const traceparent = `00-${traceId}-${'b'.repeat(16)}-01`
  const reply = await post(`${front.url}/v1/chat/completions`, chat('chained', { stream: true }), { traceparent })
  expect(await reply.text()).toContain('plover')
  await Promise.all(apps.splice(0).map((app) => app.close()))
  // A busy machine lets requests wait.
  const spans = collector.spans().filter((span) => span.traceId === traceId && !span.name.startsWith('queue'))
  const below = (parent: string | undefined) => spans.find(({ parentSpanId }) => parentSpanId === parent)
  const server = below('b'.repeat(16))
  const client = below(server?.spanId)
  const behind = below(client?.spanId)
  expect([server, client, behind].map((span) => span && [span.name, span.kind])).toEqual([
    ['chat chained', 2],
    ['chat scripted', 3],
    ['chat scripted', 2],
  ])
  expect(spans).toHaveLength(3)
  for (const { attributes } of collector.spans()) for (const { key } of attributes) expect(allowed).toContain(key)
  expect(collector.bodies.join()).not.toContain('plover')
  await collector.close()
})

test('requests of every protocol are recorded; those that their caller does not sample are passed on as they came', async () => {
  const collector = await startCollector()
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', collector.url)
  const { front, behind } = await chain()
  await post(`${front.url}/v1/chat/completions`, chat('chained'), { traceparent: `00-${'c'.repeat(32)}-${'d'.repeat(16)}-00` })
  await post(`${behind.url}/v1/responses`, { model: 'scripted', input: secret, stream: true }).then((reply) => reply.text())
  await post(`${behind.url}/v1/messages`, { ...chat('scripted'), max_tokens: 9 })
  await post(`${behind.url}/v1/completions`, { model: 'scripted', prompt: secret })
  await post(`${behind.url}/v1/chat/completions`, chat('nobody'))
  await post(`${front.url}/v1/embeddings`, { model: 'chained', input: secret })
  await fetch(`${behind.url}/v1/models`)
  const socket = await openSocket(Number(new URL(behind.url).port))
  socket.send({ model: 'scripted', input: secret })
  await socket.event(({ type }) => type === 'response.completed')
  await Promise.all(apps.splice(0).map((app) => app.close()))
  const spans = collector.spans().filter(({ name }) => !name.startsWith('queue'))
  const names = spans.map(({ name, attributes }) => {
    const error = attributes.find(({ key }) => key === 'error.type')
    return error === undefined ? name : `${name}: ${Object.values(error.value)[0]}`
  })
  expect(names.sort()).toEqual([
    'chat scripted',
    'chat scripted',
    'chat scripted',
    'chat: 404',
    'embeddings chained',
    'embeddings scripted',
    'embeddings scripted',
    'text_completion scripted',
  ])
  await collector.close()
})

test('each line of a batch has a trace of its own, from the batch that it names to the server that answers', async () => {
  const collector = await startCollector()
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', collector.url)
  const behind = await scripted()
  const endpoints = [{ url: `${behind.url}/v1` }]
  const models = [{ engine: 'remote', id: 'chained', endpoints, upstreamModel: 'scripted', load: 'start' }]
  const { url } = await start({ models: models as never, storage: {} })
  const requests = ['a', 'b'].map((custom_id) => ({ custom_id, params: { ...chat('chained'), max_tokens: 9 } }))
  const { id } = (await (await post(`${url}/v1/messages/batches`, { requests })).json()) as { readonly id: string }
  await vi.waitUntil(async () => (await (await fetch(`${url}/v1/messages/batches/${id}`)).text()).includes('"ended"'), 20_000)
  await Promise.all(apps.splice(0).map((app) => app.close()))
  const spans = collector.spans()
  const lines = spans.filter(({ attributes }) => attributes.some(({ key }) => key === 'dragoman.batch.id'))
  expect(lines.map(({ name, kind, parentSpanId }) => [name, kind, parentSpanId])).toEqual([
    ['chat chained', 2, undefined],
    ['chat chained', 2, undefined],
  ])
  for (const { spanId, traceId, attributes } of lines) {
    expect(attributes).toContainEqual({ key: 'dragoman.batch.id', value: { stringValue: id } })
    const attempt = spans.find(({ parentSpanId }) => parentSpanId === spanId)
    const answer = spans.find(({ parentSpanId }) => parentSpanId === attempt?.spanId)
    expect([attempt, answer].map((span) => span && [span.name, span.kind, span.traceId])).toEqual([
      ['chat scripted', 3, traceId],
      ['chat scripted', 2, traceId],
    ])
  }
  expect(new Set(lines.map(({ traceId }) => traceId)).size).toBe(2)
  expect(collector.bodies.join()).not.toContain('plover')
  await collector.close()
})

test.each(['away', 'refusing'])(
  'a collector that is %s fails no request, and the log says once that traces are lost',
  async (kind) => {
    const collector = await startCollector(500)
    if (kind === 'away') await collector.close()
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', collector.url)
    const app = await scripted()
    for (let count = 0; count < 20; count++) {
      expect((await post(`${app.url}/v1/chat/completions`, chat('scripted'))).status).toBe(200)
    }
    expect(await app.metric('dragoman_trace_spans_total{outcome="exported"}')).toBe(0)
    await Promise.all(apps.splice(0).map((one) => one.close()))
    expect(app.logLines().filter(({ msg }) => msg?.startsWith('the collector does not take traces') === true)).toHaveLength(1)
    if (kind === 'refusing') await collector.close()
  },
)

test('without a collector nothing is recorded', async () => {
  const app = await scripted()
  await post(`${app.url}/v1/chat/completions`, chat('scripted'))
  expect(await (await fetch(`${app.url}/metrics`)).text()).not.toContain('dragoman_trace_spans_total{')
})
