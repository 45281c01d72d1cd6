import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { privateUrls } from '../../test/support/upstream/private-addresses.ts'
import { AppError } from '../contract/errors.ts'
import { isAllowedAddress, parseBlock } from './address.ts'
import { type FetchOptions, fetchUrl } from './fetch-url.ts'

/** A forbidden address, and one that this test allows. */
const forbiddenHost = '127.0.0.1'
const allowedHost = '127.0.0.2'
const allowed = [parseBlock(allowedHost)].filter((block) => block !== undefined)
const item = { kind: 'image', source: { type: 'url', url: '' }, at: ['here'] } as const

type Listener = { readonly port: number; readonly hits: () => number; readonly sockets: ReadonlySet<Socket>; close(): void }

async function listen(host: string, handler: RequestListener): Promise<Listener> {
  const server = createServer(handler)
  const sockets = new Set<Socket>()
  let hits = 0
  server.on('connection', (socket) => {
    hits += 1
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  server.listen(0, host)
  await once(server, 'listening')
  const close = () => {
    server.close()
    server.closeAllConnections()
  }
  return { port: (server.address() as AddressInfo).port, hits: () => hits, sockets, close }
}

function fetch(url: string, options: Partial<FetchOptions> = {}, signal = new AbortController().signal) {
  const limits = { timeoutMs: 20_000, maxBytes: 1000, grow: () => undefined }
  return fetchUrl(url, { item, signal }, { allowed, ...limits, ...options })
}

let target: Listener
let server: Listener
let handler: RequestListener

beforeEach(async () => {
  target = await listen(forbiddenHost, (_, response) => response.end('secret'))
  handler = (_, response) => response.end('picture')
  server = await listen(allowedHost, (request, response) => handler(request, response))
})

afterEach(() => {
  target.close()
  server.close()
})

const urlOf = (path = '/') => `http://${allowedHost}:${server.port}${path}`

test('the bytes behind a URL arrive, with nothing about the caller', async () => {
  let headers: unknown
  handler = (request, response) => {
    headers = request.headers
    response.end('picture')
  }
  expect((await fetch(urlOf())).bytes.toString()).toBe('picture')
  expect(headers).toEqual({
    host: `${allowedHost}:${server.port}`,
    connection: 'keep-alive',
    'user-agent': 'dragoman',
    accept: '*/*',
    'accept-encoding': 'identity',
  })
})

describe('nothing is sent to an address that is not public, spelt as', () => {
  const names: Readonly<Record<string, readonly string[]>> = {
    localhost: ['::1', '127.0.0.1'],
    'private.example': [forbiddenHost],
    'mixed.example': ['93.184.215.14', forbiddenHost],
    'mapped.example': ['::ffff:127.0.0.1'],
    'nothing.example': [],
  }
  const resolve = async (host: string) => {
    const found = names[host.toLowerCase().replace(/\.$/, '')]
    if (found === undefined) throw new Error(`no test looks up ${host}`)
    return found
  }

  test.each(privateUrls)('the fetch refuses the address %j', async (spelling) => {
    const error = await fetch(spelling.replaceAll('PORT', String(target.port)), { resolve, timeoutMs: 500 }).catch((e) => e)
    expect(error).toBeInstanceOf(AppError)
    expect(error).toMatchObject({ code: 'invalid-request', at: ['here'] })
    expect(error.message).not.toContain('did not arrive')
    expect(target.hits()).toBe(0)
  })

  test.each(privateUrls.filter((spelling) => spelling.trim() !== '' && !/^\/etc/.test(spelling)))(
    'a redirect to %j',
    async (spelling) => {
      const location = spelling.replaceAll('PORT', String(target.port)).replaceAll(/[\t\n]/g, '')
      handler = (_, response) => response.writeHead(302, { location: Buffer.from(location).toString('latin1') }).end()
      const error = await fetch(urlOf(), { resolve, timeoutMs: 500 }).catch((e) => e)
      expect(error).toMatchObject({ code: 'invalid-request' })
      expect(target.hits()).toBe(0)
    },
  )
})

test('a name is asked once, and the connection goes to the address that was checked', async () => {
  let asked = 0
  const resolve = async () => {
    asked += 1
    return [asked === 1 ? allowedHost : forbiddenHost]
  }
  const { bytes } = await fetch(`http://rebinding.example:${server.port}/`, { resolve })
  expect(bytes.toString()).toBe('picture')
  expect(asked).toBe(1)
  await expect(fetch(`http://rebinding.example:${target.port}/`, { resolve })).rejects.toThrow('is not at a public address')
  expect(target.hits()).toBe(0)
})

test('a name that does not exist and one of a private address get the same error', async () => {
  const refusal = async (resolve: FetchOptions['resolve']) =>
    fetch('http://a.example/', { resolve }).catch((error) => error.message)
  const missing = await refusal(() => Promise.reject(new Error('ENOTFOUND')))
  expect(await refusal(async () => ['10.0.0.1'])).toBe(missing)
})

test('a proxy of the environment is not used', async () => {
  onTestFinished(() => void vi.unstubAllEnvs())
  for (const name of ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'all_proxy']) vi.stubEnv(name, `http://127.0.0.1:${target.port}`)
  vi.stubEnv('NODE_USE_ENV_PROXY', '1')
  expect((await fetch(urlOf())).bytes.toString()).toBe('picture')
  expect(target.hits()).toBe(0)
})

describe('redirects', () => {
  test('redirects are followed three times, to other hosts too', async () => {
    handler = ({ url }, response) => {
      const hop = Number(url?.slice(1))
      if (hop === 0) response.end('picture')
      else response.writeHead(307, { location: `http://other.example:${server.port}/${hop - 1}` }).end()
    }
    const resolve = async () => [allowedHost]
    expect((await fetch(urlOf('/3'), { resolve })).bytes.toString()).toBe('picture')
    await expect(fetch(urlOf('/4'), { resolve })).rejects.toThrow('is behind more than 3 redirects')
  })

  test('redirects lead only to hosts of the list, where there is one', async () => {
    const resolve = async () => [allowedHost]
    const domains = ['good.example']
    const options = { resolve, domains }
    expect((await fetch(`http://good.example:${server.port}/`, options)).bytes.toString()).toBe('picture')
    expect((await fetch(`http://a.good.example.:${server.port}/`, options)).bytes.toString()).toBe('picture')
    for (const host of ['notgood.example', 'good.example.evil.example', 'example', allowedHost]) {
      await expect(fetch(`http://${host}:${server.port}/`, options)).rejects.toThrow('media.allowedDomains')
    }
    handler = (_, response) => response.writeHead(302, { location: `http://evil.example:${server.port}/` }).end()
    await expect(fetch(`http://good.example:${server.port}/`, options)).rejects.toThrow('media.allowedDomains')
  })
})

describe('is refused while it arrives:', () => {
  test('an endless stream', async () => {
    let sent = 0
    handler = (_, response) => {
      const write = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536))) sent += 65_536
      }
      response.on('drain', write)
      write()
    }
    await expect(fetch(urlOf(), { maxBytes: 100_000 })).rejects.toThrow('has more bytes than the limit')
    expect(sent).toBeLessThan(16 * 1024 * 1024)
  })

  test('a size that is announced', async () => {
    handler = (_, response) => response.writeHead(200, { 'content-length': '5000' }).write('x')
    await expect(fetch(urlOf())).rejects.toThrow('has more bytes than the limit')
  })

  test('a slow drip', async () => {
    handler = (_, response) => {
      const timer = setInterval(() => response.write('x'), 20)
      response.on('close', () => clearInterval(timer))
    }
    await expect(fetch(urlOf(), { timeoutMs: 300 })).rejects.toThrow('did not arrive within 0.3 seconds')
  })

  test('a server that says nothing, or too much before the body', async () => {
    handler = () => undefined
    await expect(fetch(urlOf(), { timeoutMs: 200 })).rejects.toThrow('did not arrive')
    handler = (_, response) => response.writeHead(200, { 'x-long': 'a'.repeat(20_000) }).end()
    await expect(fetch(urlOf())).rejects.toThrow('cannot be fetched')
  })

  test('a compressed body', async () => {
    handler = (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(1e6)))
    await expect(fetch(urlOf())).rejects.toThrow("content-encoding 'gzip'")
  })

  test('what is not there', async () => {
    handler = (_, response) => response.writeHead(404).end('no')
    await expect(fetch(urlOf())).rejects.toThrow('answered with status 404')
  })

  test('an answer that is not HTTP', async () => {
    const odd = createTcpServer((socket) => socket.end('220 mail ready\r\n')).listen(0, allowedHost)
    await once(odd, 'listening')
    await expect(fetch(`http://${allowedHost}:${(odd.address() as AddressInfo).port}/`)).rejects.toThrow('cannot be fetched')
    odd.close()
  })

  test('what finds no memory', async () => {
    const full = () => {
      throw new AppError('overloaded', 'full')
    }
    await expect(fetch(urlOf(), { grow: full })).rejects.toMatchObject({ code: 'overloaded' })
  })
})

describe('a cancel', () => {
  const reason = new AppError('cancelled', 'enough')

  test('a cancel while the bytes arrive closes the connection immediately', async () => {
    handler = (_, response) => response.write('x')
    const controller = new AbortController()
    const fetching = fetch(urlOf(), {}, controller.signal).catch((error) => error)
    await expect.poll(() => server.sockets.size).toBe(1)
    controller.abort(reason)
    expect(await fetching).toBe(reason)
    await expect.poll(() => server.sockets.size, { interval: 5 }).toBe(0)
  })

  test('a cancel while a name is looked up does not wait for it', async () => {
    const controller = new AbortController()
    const resolve = () => new Promise<never>(() => undefined)
    const fetching = fetch('http://slow.example/', { resolve }, controller.signal).catch((error) => error)
    setImmediate(() => controller.abort(reason))
    expect(await fetching).toBe(reason)
  })
})

test('no connection outlives its fetch', async () => {
  await fetch(urlOf())
  await expect.poll(() => server.sockets.size).toBe(0)
})

test.each(['8.8.8.8', '::ffff:8.8.8.8', '1.1.1.1', '2606:4700::1111', '93.184.215.14'])('%s is public', (address) => {
  expect(isAllowedAddress(address, [])).toBe(true)
})

// Their connections fail here in any case: only this shows that none is tried.
const notPublic = [
  '168.63.129.16',
  '::ffff:168.63.129.16',
  '169.254.169.254',
  '100.100.100.200',
  '192.0.0.192',
  '198.18.0.1',
  '3fff::1',
]
test.each([...notPublic, '64:ff9b::808:808', '2002:808:808::1', '2001:0:808::1', 'fd00:ec2::254'])(
  '%s is not public',
  (address) => {
    expect(isAllowedAddress(address, [])).toBe(false)
  },
)

test.each(['10.0.0.0/8', '::1/128', '192.168.1.5', '::1'])('%s is a block of addresses', (text) => {
  expect(parseBlock(text)).toBeDefined()
})

test.each(['10.0.0.0/33', 'host', '10.0.0/8', '::1/129', '1.2.3.4/', '::1%lo', '1.2.3.4/8/8'])('%s is none', (text) => {
  expect(parseBlock(text)).toBeUndefined()
})
