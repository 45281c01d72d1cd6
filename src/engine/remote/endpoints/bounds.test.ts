import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { RequestListener } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startDnsServer } from '../../../../test/support/discovery/dns-server.ts'
import { follow } from '../../../../test/support/discovery/follow.ts'
import { type Pod, sliceOf, startKubernetesApi } from '../../../../test/support/discovery/kubernetes-api.ts'
import { listenOnLoopback } from '../../../../test/support/upstream/loopback.ts'
import { dnsSource } from './dns-source.ts'
import { fileSource } from './file-source.ts'
import { kubernetesSource } from './kubernetes-source.ts'

const warn = () => undefined
const service = { of: { service: 'vllm' }, namespace: 'llm', port: 'http', path: '/v1', retryMs: 20, warn }
const listOf = (items: readonly object[], more: object = {}) => ({ metadata: { resourceVersion: '1', ...more }, items })
const pods = (count: number): readonly Pod[] =>
  Array.from({ length: count }, (_, index) => ({ ip: `10.0.${index >> 8}.${index & 255}` }))

/** What a source says of an API server that answers each list so. */
async function failureOf(listener: RequestListener): Promise<string> {
  const { origin, close } = await listenOnLoopback(listener)
  onTestFinished(close)
  const { heard, until } = follow(kubernetesSource({ ...service, api: origin }))
  await until(() => heard.failures.length > 0)
  return heard.failures[0] ?? ''
}

test('an endless list of Kubernetes is abandoned', async () => {
  const filler = Buffer.alloc(1 << 20, ' ')
  let sent = 0
  const failure = await failureOf((_, response) => {
    response.writeHead(200).write('{"items":[')
    const more = () => {
      while (!response.destroyed && response.write(filler)) sent += 1
      response.once('drain', more)
    }
    more()
  })
  expect(failure).toBe('kubernetes: vllm: the list has more than 16777216 bytes')
  expect(sent).toBeLessThan(64)
})

test('the pages of a list have an end', async () => {
  let pages = 0
  const failure = await failureOf((_, response) => {
    pages += 1
    response.end(JSON.stringify(listOf([], { continue: 'more' })))
  })
  expect(failure).toBe('kubernetes: vllm: the list has more than 100 pages')
  expect(pages).toBeLessThan(110)
})

test.each([
  ['more servers than a model can have', sliceOf('a', pods(1001)), 'there are 1001 servers (at most 1000)'],
  ['a port that is none', sliceOf('a', pods(1), { port: 99_999 }), "'http://10.0.0.0:99999/v1' is not a URL"],
  ['an address that is none', sliceOf('a', [{ ip: 'a b' }]), "'http://a b:8000/v1' is not a URL"],
])('a Service with %s is refused with the reason', async (_, slice, reason) => {
  const failure = await failureOf((_request, response) => void response.end(JSON.stringify(listOf([slice]))))
  expect(failure).toBe(`kubernetes: vllm: ${reason}`)
})

test('a Service that gets more slices than a list may have is listed again', async () => {
  const api = await startKubernetesApi()
  const { heard, until } = follow(kubernetesSource({ ...service, api: api.origin }))
  await until(() => api.watches() === 1)
  api.put(...Array.from({ length: 101 }, (_, index) => sliceOf(`s-${index}`, [])))
  await until(() => heard.failures.length > 0)
  expect(heard.failures[0]).toBe('kubernetes: vllm: there are more than 100 endpointslices')
})

test('events that arrive together are reported together', async () => {
  const changes = Array.from({ length: 2000 }, (_, index) => {
    const object = sliceOf('a', [{ ip: `10.1.${index >> 8}.${index & 255}` }])
    return JSON.stringify({ type: 'MODIFIED', object })
  })
  const { origin, close } = await listenOnLoopback(({ url = '' }, response) => {
    if (url.includes('watch=1')) response.write(`${changes.join('\n')}\n`)
    else response.end(JSON.stringify(listOf([sliceOf('a', pods(1))])))
  })
  onTestFinished(close)
  const { heard, until } = follow(kubernetesSource({ ...service, api: origin }))
  await until(() => heard.sets.at(-1)?.[0]?.url === 'http://10.1.7.207:8000/v1')
  expect(heard.sets.length).toBeLessThan(200)
})

test('a name with more addresses than a model can have servers keeps the last set', async () => {
  const a = pods(1001).map(({ ip }) => ip)
  const { address } = await startDnsServer({ 'vllm.test': { a } })
  const { heard, until } = follow(
    dnsSource({ dns: 'vllm.test', port: 8000, path: '', everyMs: 20, nameServers: [address], warn }),
  )
  await until(() => heard.failures.length > 0)
  expect(heard.failures[0]).toBe('dns: vllm.test: there are 1001 servers (at most 1000)')
  expect(heard.sets).toEqual([])
})

test('a file that is longer than a list of servers is not parsed', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-endpoints-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const file = join(folder, 'endpoints.yaml')
  await writeFile(file, '- url: http://a/v1\n'.repeat(40_000))
  const parse = () => {
    throw new Error('parsed')
  }
  const { heard, until } = follow(fileSource({ file, everyMs: 20, parse, warn }))
  await until(() => heard.failures.length > 0)
  expect(heard.failures[0]).toBe(`file: ${file}: it cannot be read: the list has more than 262144 bytes`)
})
