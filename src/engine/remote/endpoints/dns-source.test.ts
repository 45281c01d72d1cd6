import { expect, test } from 'vitest'
import { startDnsServer } from '../../../../test/support/discovery/dns-server.ts'
import { follow } from '../../../../test/support/discovery/follow.ts'
import { type DnsSourceOptions, dnsSource, weighServices } from './dns-source.ts'

const name = 'vllm.llm.svc.cluster.local'

async function open(zone: Parameters<typeof startDnsServer>[0], options: Partial<DnsSourceOptions> = {}) {
  const server = await startDnsServer(zone)
  const warnings: string[] = []
  const warn = (message: string) => void warnings.push(message)
  const source = dnsSource({ dns: name, path: '/v1', everyMs: 20, nameServers: [server.address], warn, ...options })
  return { ...server, warnings, ...follow(source) }
}

test('every address of a name is a server', async () => {
  const { urls } = await open({ [name]: { a: ['10.0.0.2', '10.0.0.1'], aaaa: ['::9'] } }, { port: 8000 })
  expect(await urls()).toEqual(['http://10.0.0.1:8000/v1', 'http://10.0.0.2:8000/v1'])
})

test('IPv6 addresses count where there are no others', async () => {
  const { urls } = await open({ [name]: { aaaa: ['::1', '::2'] } }, { port: 8000, path: '' })
  expect(await urls()).toEqual(['http://[::1]:8000', 'http://[::2]:8000'])
})

test('SRV records have their ports and weights, and the second priority is spare', async () => {
  const { heard, urls } = await open({
    [name]: {
      srv: [
        { target: 'a.test', port: 8001, weight: 25, priority: 1 },
        { target: 'b.test', port: 8002, weight: 75, priority: 1 },
        { target: 'c.test', port: 8003, weight: 0, priority: 2 },
      ],
    },
    'a.test': { a: ['10.0.0.1'] },
    'b.test': { a: ['10.0.0.2'] },
    'c.test': { a: ['10.0.0.3'] },
  })
  await urls()
  expect(heard.sets[0]).toEqual([
    { url: 'http://10.0.0.1:8001/v1', weight: 0.5 },
    { url: 'http://10.0.0.2:8002/v1', weight: 1.5 },
    { url: 'http://10.0.0.3:8003/v1', weight: 1, isSpare: true },
  ])
})

test('without name servers of its own, the targets of SRV records stay names', () => {
  const record = { name: 'pod-0.vllm', port: 8000, weight: 50, priority: 0 }
  expect(weighServices([record, { ...record, name: 'pod-1.vllm', weight: 0 }])).toEqual([
    { host: 'pod-0.vllm', port: 8000, weight: 2 },
    { host: 'pod-1.vllm', port: 8000, weight: 0.01 },
  ])
})

test('servers that speak HTTPS, with the name that their certificates have', async () => {
  const srv = [{ port: 8443, target: 'pod-0.vllm' }]
  const zone = { [name]: { a: ['10.0.0.1'] }, '_https._tcp.vllm': { srv }, 'pod-0.vllm': { a: ['10.0.0.2'] } }
  const found = async (options: Partial<DnsSourceOptions>) => {
    const { heard, urls } = await open(zone, { https: true, ...options })
    await urls()
    return heard.sets[0]
  }
  expect(await found({ port: 8443 })).toEqual([{ url: 'https://10.0.0.1:8443/v1', weight: 1, serverName: name }])
  expect(await found({ port: 8443, serverName: 'gpu' })).toMatchObject([{ serverName: 'gpu' }])
  expect(await found({ dns: '_https._tcp.vllm' })).toEqual([
    { url: 'https://10.0.0.2:8443/v1', weight: 1, serverName: 'pod-0.vllm' },
  ])
})

test('two hundred addresses do not fit into a datagram, and all of them are found', async () => {
  const a = Array.from({ length: 200 }, (_, index) => `10.0.0.${index}`)
  const { urls } = await open({ [name]: { a } }, { port: 8000 })
  expect(await urls()).toHaveLength(200)
})

test('a change is followed, since nothing is remembered of a name', async () => {
  const { zones, urls, changed } = await open({ [name]: { a: ['10.0.0.1'] } }, { port: 1 })
  await urls()
  zones[name] = { a: ['10.0.0.1', '10.0.0.2'] }
  await changed()
  expect(await urls()).toHaveLength(2)
})

test('failed lookups keep the set, and are named once', async () => {
  const { zones, heard, asked, warnings, urls, until } = await open({ [name]: { a: ['10.0.0.1'] } }, { port: 1 })
  await urls()
  zones[name] = { fails: true }
  const before = asked.length
  await until(() => asked.length > before + 8)
  expect(heard.sets).toHaveLength(1)
  expect(heard.failures).toEqual([])
  expect(warnings).toEqual([`dns: ${name}: the name could not be looked up (ESERVFAIL)`])
})

test('a name that is gone three times in a row has no servers', async () => {
  const { zones, heard, asked, warnings, urls, changed } = await open({ [name]: { a: ['10.0.0.1'] } }, { port: 1 })
  await urls()
  delete zones[name]
  const before = asked.length
  await changed()
  expect(heard.sets.at(-1)).toEqual([])
  // Each time for A and AAAA.
  expect(asked.length - before).toBeGreaterThanOrEqual(6)
  expect(warnings).toEqual([`dns: ${name}: there is no such name, or it has no records`])
})

test('a name that does not exist at the start has no servers yet', async () => {
  const { heard, zones, urls, changed } = await open({}, { port: 1 })
  expect(await urls()).toEqual([])
  zones[name] = { a: ['10.0.0.1'] }
  await changed()
  expect(heard.sets.at(-1)).toHaveLength(1)
})

test('a first lookup that fails is reported, and repeated', async () => {
  const { heard, zones, until } = await open({ [name]: { fails: true } }, { port: 1 })
  await until(() => heard.failures.length > 0)
  expect(heard.sets).toEqual([])
  zones[name] = { a: ['10.0.0.1'] }
  await until(() => heard.sets.length === 1)
})
