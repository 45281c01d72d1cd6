import { expect, test } from 'vitest'
import { parseEndpointList } from '../endpoint-list.ts'
import { configFromObject } from '../load.ts'
import type { RemoteModelConfig } from '../schema.ts'

function load(endpoints: unknown, more: object = {}): RemoteModelConfig {
  const raw = { builtinModel: false, models: [{ engine: 'remote', id: 'm', endpoints, ...more }] }
  const { models } = configFromObject(raw as never, { env: {}, cwd: '/etc/dragoman', userHome: '/root', needsModel: true })
  return models[0] as RemoteModelConfig
}

test('one source needs no list', () => {
  expect(load({ dns: 'vllm.llm.svc', port: 8000 }).endpoints).toMatchObject([{ dns: 'vllm.llm.svc', port: 8000, weight: 1 }])
})

test('sources and plain endpoints can be mixed, and a file is beside the configuration', () => {
  const { endpoints } = load([
    { url: 'http://10.0.0.1/v1/' },
    { file: 'endpoints.yaml', everyMs: 1000 },
    { kubernetes: { service: 'vllm', port: 'http' }, path: '/' },
  ])
  expect(endpoints).toMatchObject([
    { url: 'http://10.0.0.1/v1', weight: 1 },
    { file: '/etc/dragoman/endpoints.yaml', everyMs: 1000, weight: 1 },
    { kubernetes: { service: 'vllm', port: 'http' }, path: '', weight: 1 },
  ])
})

test('what a model does with servers that go, and without servers', () => {
  expect(load({ dns: 'a' })).toMatchObject({ drainMs: 30_000, whenEmpty: { holdMs: 300_000 } })
  expect(load({ dns: 'a' }, { drainMs: 0, whenEmpty: { holdMs: 5 } })).toMatchObject({ drainMs: 0, whenEmpty: { holdMs: 5 } })
})

test.each([
  { endpoints: [{}], message: 'models[0].endpoints[0]: must have one of url, dns, file, kubernetes' },
  { endpoints: [{ url: 'http://a/v1', dns: 'b' }], message: 'must have one of url, dns, file, kubernetes, not url and dns' },
  {
    endpoints: [{ url: 'http://a/v1', port: 8000 }],
    message: 'endpoints[0].port: has no effect with url, only with dns: leave it out',
  },
  { endpoints: { file: 'a.yaml', nameServers: ['1.1.1.1'] }, message: 'nameServers: has no effect with file, only with dns' },
  { endpoints: [{ dns: 'http://a' }], message: 'endpoints[0].dns: must be a full name such as vllm.llm.svc.cluster.local' },
  { endpoints: { dns: 'a', everyMs: 5 }, message: 'endpoints.everyMs: must be at least 100, got 5' },
  {
    endpoints: { kubernetes: { namespace: 'llm' } },
    message: 'endpoints.kubernetes: must have one of service, selector, inferencePool',
  },
  {
    endpoints: { kubernetes: { service: 'a', selector: 'app=b' } },
    message: 'must have one of service, selector, inferencePool, not service and selector',
  },
  {
    endpoints: { kubernetes: { inferencePool: 'a', port: 8000 } },
    message: 'endpoints.kubernetes.port: has no effect with inferencePool, which sets the ports: leave it out',
  },
  { endpoints: { file: 'a.yaml', https: true }, message: 'https: has no effect with file, only with dns, kubernetes' },
  { endpoints: { dns: 'a', evryMs: 500 }, message: "endpoints.evryMs: unknown key 'evryMs'; did you mean 'everyMs'?" },
  {
    endpoints: [{ url: 'http://a/v1', wieght: 2 }],
    message: "endpoints[0].wieght: unknown key 'wieght'; did you mean 'weight'?",
  },
  { endpoints: [{ url: 'http://a/v1' }, { url: 'http://a/v1' }], message: "'http://a/v1' is listed twice" },
  { endpoints: [], message: 'endpoints' },
])('the configuration is refused: $message', ({ endpoints, message }) => {
  expect(() => load(endpoints)).toThrow(message)
})

test.each([
  {
    name: 'a list of its own',
    text: '- url: http://10.0.0.1:8000/v1/\n- { url: "http://10.0.0.2:8000/v1", weight: 2, apiKeyEnv: KEY }',
    servers: [
      { url: 'http://10.0.0.1:8000/v1', weight: 1 },
      { url: 'http://10.0.0.2:8000/v1', weight: 2, apiKeyEnv: 'KEY' },
    ],
  },
  {
    name: 'the form of Prometheus, whose groups may overlap',
    text: '[{"targets":["10.0.0.1:8000","[fd00::1]:8000"],"labels":{"zone":"a"}},{"targets":["10.0.0.1:8000"]}]',
    servers: [
      { url: 'http://10.0.0.1:8000/api', weight: 1 },
      { url: 'http://[fd00::1]:8000/api', weight: 1 },
    ],
  },
  { name: 'no servers', text: '[]', servers: [] },
])('a file has $name', ({ text, servers }) => {
  expect(parseEndpointList(text, '/api')).toMatchObject(servers)
})

test.each([
  { text: '', message: 'it is not a list; no servers are `[]`' },
  { text: 'url: http://a/v1', message: 'it is not a list' },
  { text: '- url: http://a/v1\n- url: htt', message: '[1].url: must be a URL such as http://10.0.0.1:8000/v1' },
  { text: '- { url: "http://a/v1", wieght: 2 }', message: '[0]: Unrecognized key: "wieght"' },
  { text: '- targets: [a]', message: '[0].targets[0]: must be HOST:PORT' },
  { text: '- {', message: 'line ' },
  { text: '- url: http://a/v1\n'.repeat(2001), message: 'it lists 2001 servers (at most 2000)' },
  { text: `- targets: [${'"a:1",'.repeat(2001)}]`, message: 'it lists 2001 servers (at most 2000)' },
])('a file that is not such a list: $message', ({ text, message }) => {
  expect(() => parseEndpointList(text, '/v1')).toThrow(message)
})
