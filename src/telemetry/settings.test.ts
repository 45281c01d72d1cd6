import { expect, test } from 'vitest'
import { isSampled } from './sampler.ts'
import { readTracing } from './settings.ts'

const OTEL_EXPORTER_OTLP_ENDPOINT = 'http://collector:4318/'

test('without an endpoint, or switched off, nothing is recorded', () => {
  for (const env of [
    {},
    { OTEL_EXPORTER_OTLP_ENDPOINT: ' ' },
    { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_SDK_DISABLED: 'true' },
    { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_EXPORTER: 'none' },
  ])
    expect(readTracing(env)).toEqual({ settings: undefined, problems: [] })
})

test('the endpoint is a base, and that of traces a whole address', () => {
  expect(readTracing({ OTEL_EXPORTER_OTLP_ENDPOINT }).settings?.url).toBe('http://collector:4318/v1/traces')
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://other/in?x=1' }
  expect(readTracing(env).settings?.url).toBe('https://other/in?x=1')
})

test('headers, attributes and the name of the service are read', () => {
  const { settings, problems } = readTracing({
    OTEL_EXPORTER_OTLP_ENDPOINT,
    OTEL_EXPORTER_OTLP_HEADERS: 'Authorization=Basic%20abc==, x-team = ml',
    OTEL_RESOURCE_ATTRIBUTES: 'service.name=ignored,deployment.environment.name=prod%20eu',
    OTEL_SERVICE_NAME: 'gateway',
    OTEL_EXPORTER_OTLP_TIMEOUT: '2500',
  })
  expect(problems).toEqual([])
  expect(settings).toMatchObject({
    headers: { authorization: 'Basic abc==', 'x-team': 'ml' },
    resource: { 'service.name': 'gateway', 'deployment.environment.name': 'prod eu' },
    timeoutMs: 2500,
    sampler: { ratio: 1, followsParent: true },
  })
  expect(readTracing({ OTEL_EXPORTER_OTLP_ENDPOINT }).settings?.resource).toEqual({ 'service.name': 'dragoman' })
})

test.each([
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317' }, /OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317\/v1\/traces' is not an http/],
  [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, /OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' is not spoken here.*4318/],
  [{ OTEL_TRACES_SAMPLER: 'jaeger_remote' }, /OTEL_TRACES_SAMPLER: 'jaeger_remote' is not known: use one of always_on/],
  [{ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '1.5' }, /OTEL_TRACES_SAMPLER_ARG: '1.5' is not a number/],
  [{ OTEL_EXPORTER_OTLP_TIMEOUT: 'soon' }, /OTEL_EXPORTER_OTLP_TIMEOUT: 'soon' is not a number/],
  [{ OTEL_EXPORTER_OTLP_HEADERS: 'secret' }, /OTEL_EXPORTER_OTLP_HEADERS: 'secret' is not NAME=VALUE/],
])('%j is a problem that names the value', (env, problem) => {
  expect(readTracing({ OTEL_EXPORTER_OTLP_ENDPOINT, ...env }).problems).toEqual([expect.stringMatching(problem)])
})

const parent = (isSampled: boolean) => ({ traceId: 'f'.repeat(32), spanId: '1'.repeat(16), isSampled })

test('a caller decides for its trace, unless the sampler does not ask', () => {
  const trace = '1'.padStart(32, '0')
  expect(isSampled({ ratio: 0, followsParent: true }, trace, parent(true))).toBe(true)
  expect(isSampled({ ratio: 1, followsParent: true }, trace, parent(false))).toBe(false)
  expect(isSampled({ ratio: 1, followsParent: false }, trace, parent(false))).toBe(true)
})

test('of the traces that begin here, a share is recorded', () => {
  const sampler = { ratio: 0.25, followsParent: true }
  const ids = Array.from(
    { length: 1000 },
    (_, index) => `${'0'.repeat(20)}${((index / 1000) * 2 ** 48).toString(16).split('.')[0]?.padStart(12, '0')}`,
  )
  expect(ids.filter((id) => isSampled(sampler, id, undefined))).toHaveLength(250)
})
