import { createHash, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { listenOnLoopback } from '../../test/support/loopback.ts'
import { type DownloadOptions, download } from './download.ts'

const content = randomBytes(300_000)
const contentSha256 = createHash('sha256').update(content).digest('hex')
const otherSha256 = 'f'.repeat(64)

type Handler = (request: IncomingMessage, response: ServerResponse) => void

async function serve(handler: Handler): Promise<{ origin: string; requests: IncomingMessage[] }> {
  const requests: IncomingMessage[] = []
  const { origin, close } = await listenOnLoopback((request, response) => {
    requests.push(request)
    handler(request, response)
  })
  onTestFinished(close)
  return { origin, requests }
}

type FileOptions = { body?: Buffer; etag?: string; ranges?: boolean; headers?: Record<string, string>; cutAfter?: () => number }

/** A file as a good server sends it, with a fault or two on request. */
function file(options: FileOptions = {}): Handler {
  return (request, response) => {
    const { body = content, etag = '"one"', ranges = true, headers = {}, cutAfter } = options
    const range = /^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1]
    const start = ranges && range !== undefined && request.headers['if-range'] === etag ? Number(range) : 0
    const rest = body.subarray(start)
    response.writeHead(start > 0 ? 206 : 200, {
      etag,
      'content-length': rest.length,
      ...(start > 0 && { 'content-range': `bytes ${start}-${body.length - 1}/${body.length}` }),
      ...headers,
    })
    const cut = cutAfter?.() ?? Number.POSITIVE_INFINITY
    if (cut >= rest.length) response.end(rest)
    else response.write(rest.subarray(0, cut), () => void breakOff(response, start + cut))
  }
}

/** How much of the file the download under test has taken in. */
let receivedBytes = 0

/** Breaks a connection off when its reader has what was sent: newer versions of Node drop what it has not read by then. */
async function breakOff(response: ServerResponse, sentBytes: number): Promise<void> {
  while (receivedBytes < sentBytes && !response.destroyed) await nextTurn()
  response.destroy()
}

/** A connection that breaks off after so many bytes, and then works. */
function cutOnce(bytes: number): () => number {
  let cuts = 0
  return () => {
    cuts += 1
    return cuts === 1 ? bytes : Number.POSITIVE_INFINITY
  }
}

async function setUp(handler: Handler) {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-download-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const { origin, requests } = await serve(handler)
  const target = join(folder, 'deep', 'x.gguf')
  receivedBytes = 0
  const run = (options: Partial<DownloadOptions> = {}) =>
    download({
      url: `${origin}/x.gguf`,
      target,
      maxResumes: 0,
      ...options,
      onProgress: (progress) => {
        receivedBytes = progress.receivedBytes
        options.onProgress?.(progress)
      },
    })
  const leftovers = async () => (existsSync(join(folder, 'deep')) ? (await readdir(join(folder, 'deep'))).sort() : [])
  return { target, run, requests, leftovers, origin }
}

/** Compared as bytes: the matcher would take half a second to do the same. */
async function holds(path: string, bytes: Buffer): Promise<boolean> {
  return bytes.equals(await readFile(path))
}

describe('a whole download', () => {
  test('is verified, put in place and leaves nothing else', async () => {
    const { run, target, leftovers } = await setUp(file())
    const progress: unknown[] = []
    expect(await run({ sha256: contentSha256, onProgress: (state) => progress.push(state) })).toBe(contentSha256)
    expect(await holds(target, content)).toBe(true)
    expect(await leftovers()).toEqual(['x.gguf'])
    expect(progress.at(-1)).toEqual({ receivedBytes: content.length, totalBytes: content.length })
  })

  test('needs no size when there is a checksum', async () => {
    const { run, target } = await setUp((_request, response) => response.end(content))
    const chunked: Handler = (_request, response) => {
      response.write(content.subarray(0, 10))
      response.end(content.subarray(10))
    }
    await run()
    expect(await holds(target, content)).toBe(true)
    const unsized = await setUp(chunked)
    await expect(unsized.run()).rejects.toThrow('does not say how large the file is')
    expect(await unsized.run({ sha256: contentSha256 })).toBe(contentSha256)
  })

  test('replaces what was there only at the end', async () => {
    let body = content
    const { run, target } = await setUp((request, response) => file({ body })(request, response))
    await run()
    body = randomBytes(1000)
    await expect(run({ sha256: otherSha256 })).rejects.toThrow('SHA-256')
    expect(await holds(target, content)).toBe(true)
    await run()
    expect(await holds(target, body)).toBe(true)
  })
})

describe('a connection that breaks off', () => {
  test('leaves a part, and the next run asks for the rest only', async () => {
    const { run, requests, target, leftovers } = await setUp(file({ cutAfter: cutOnce(100_000) }))
    await expect(run()).rejects.toThrow(/the connection to 127\.0\.0\.1:\d+ broke off/)
    expect(await leftovers()).toEqual(['x.gguf.part', 'x.gguf.part.json'])
    expect(await run({ sha256: contentSha256 })).toBe(contentSha256)
    expect(requests[1]?.headers).toMatchObject({ range: expect.stringMatching(/^bytes=[1-9]\d*-$/), 'if-range': '"one"' })
    expect(await holds(target, content)).toBe(true)
    expect(await leftovers()).toEqual(['x.gguf'])
  })

  test('is taken up again in the same run', async () => {
    const { run, requests } = await setUp(file({ cutAfter: cutOnce(100_000) }))
    expect(await run({ maxResumes: 1 })).toBe(contentSha256)
    expect(requests).toHaveLength(2)
  })

  test('is not taken up for ever', async () => {
    const { run, requests } = await setUp(file({ cutAfter: () => 1000 }))
    await expect(run({ maxResumes: 3 })).rejects.toThrow('broke off')
    expect(requests).toHaveLength(4)
  })
})

describe('a part that is no longer of use', () => {
  test.each<[string, FileOptions]>([
    ['the file has changed', { body: randomBytes(200_000), etag: '"two"' }],
    ['the server ignores ranges', { ranges: false }],
  ])('%s: it starts over', async (_case, later) => {
    let options: FileOptions = { cutAfter: cutOnce(100_000) }
    const { run, target, leftovers } = await setUp((request, response) => file(options)(request, response))
    await expect(run()).rejects.toThrow('broke off')
    options = later
    await run()
    expect(await holds(target, later.body ?? content)).toBe(true)
    expect(await leftovers()).toEqual(['x.gguf'])
  })

  test.each<[string, Handler]>([
    ['416', (_request, response) => response.writeHead(416).end()],
    ['another range', (_request, response) => response.writeHead(206, { 'content-range': 'bytes 5-9/300000' }).end('abcde')],
    [
      'the range of another file',
      (request, response) => {
        const start = Number(/\d+/.exec(request.headers.range ?? '')?.[0])
        response.writeHead(206, { etag: '"two"', 'content-range': `bytes ${start}-299999/300000` }).end(content.subarray(start))
      },
    ],
  ])('the server answers with %s: it starts over', async (_case, odd) => {
    const whole = file({ cutAfter: cutOnce(100_000) })
    const { run, target } = await setUp((request, response) => {
      const handler = request.headers.range === undefined ? whole : odd
      handler(request, response)
    })
    await expect(run()).rejects.toThrow('broke off')
    await run()
    expect(await holds(target, content)).toBe(true)
  })

  test('a part of another URL is not continued', async () => {
    const { run, requests, origin } = await setUp(file({ cutAfter: cutOnce(100_000) }))
    await expect(run()).rejects.toThrow('broke off')
    await run({ url: `${origin}/y.gguf` })
    expect(requests[1]?.headers.range).toBeUndefined()
  })

  test('a weak tag promises nothing, so nothing is continued', async () => {
    const { run, requests } = await setUp(file({ etag: 'W/"one"', cutAfter: cutOnce(100_000) }))
    await run({ maxResumes: 1 })
    expect(requests[1]?.headers.range).toBeUndefined()
  })

  test('a range that nobody asked for is refused', async () => {
    const { run } = await setUp((_request, response) => response.writeHead(206, { 'content-range': 'bytes 0-4/5' }).end('abcde'))
    await expect(run()).rejects.toThrow('answered with status 206 to a plain request')
  })
})

describe('verification', () => {
  test('a wrong checksum deletes the download and says both values', async () => {
    const { run, leftovers } = await setUp(file())
    const message = `the file's SHA-256 is ${contentSha256}, but the configuration says ${otherSha256}; the download was deleted`
    await expect(run({ sha256: otherSha256 })).rejects.toThrow(message)
    expect(await leftovers()).toEqual([])
  })

  test('a resumed file of which the first part was damaged is deleted', async () => {
    const broken = Buffer.concat([Buffer.alloc(10), content.subarray(10)])
    let options: FileOptions = { body: broken, cutAfter: cutOnce(100_000) }
    const { run, leftovers } = await setUp((request, response) => file(options)(request, response))
    await expect(run()).rejects.toThrow('broke off')
    options = {}
    await expect(run({ sha256: contentSha256 })).rejects.toThrow('SHA-256')
    expect(await leftovers()).toEqual([])
  })

  test('a server that sends less than it announced has broken off', async () => {
    const { run, leftovers } = await setUp((_request, response) => {
      response.writeHead(200, { 'content-length': content.length + 1 })
      response.write(content, () => response.destroy())
    })
    await expect(run()).rejects.toThrow('broke off')
    expect(await leftovers()).toEqual(['x.gguf.part'])
  })

  test('a resumed file of the wrong size is deleted', async () => {
    const { run, leftovers } = await setUp((request, response) => {
      if (request.headers.range === undefined) return file({ cutAfter: cutOnce(100_000) })(request, response)
      const start = Number(/\d+/.exec(request.headers.range)?.[0])
      response.writeHead(206, { 'content-range': `bytes ${start}-299999/300000` }).end(content.subarray(start, -5))
    })
    await expect(run()).rejects.toThrow('broke off')
    await expect(run()).rejects.toThrow('the file has 299995 bytes instead of 300000; the download was deleted')
    expect(await leftovers()).toEqual([])
  })

  test('a compressed answer is refused', async () => {
    const { run } = await setUp(file({ headers: { 'content-encoding': 'gzip' } }))
    await expect(run()).rejects.toThrow('insists on sending the file as gzip')
  })
})

describe('redirects', () => {
  const redirectTo = (location: () => string, headers: Record<string, string> = {}): Handler => {
    return (_request, response) => response.writeHead(302, { location: location(), ...headers }).end()
  }

  test('a token goes to the first host, and is not passed on to another', async () => {
    const storage = await serve(file())
    const { run, requests, target } = await setUp((request, response) => {
      const location = request.url === '/x.gguf' ? '/moved.gguf' : `${storage.origin}/blob`
      redirectTo(() => location)(request, response)
    })
    await run({ bearerToken: 'secret' })
    expect(requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer secret', 'Bearer secret'])
    expect(storage.requests.map(({ headers }) => headers.authorization)).toEqual([undefined])
    expect(await holds(target, content)).toBe(true)
  })

  test('the checksum on a redirect is used', async () => {
    const storage = await serve(file())
    const linked = (sha256: string) => redirectTo(() => `${storage.origin}/blob`, { 'x-linked-etag': `"${sha256}"` })
    const good = await setUp(linked(contentSha256))
    expect(await good.run()).toBe(contentSha256)
    const bad = await setUp(linked(otherSha256))
    await expect(bad.run()).rejects.toThrow(`but 127.0.0.1:${new URL(storage.origin).port} says ${otherSha256}`)
    expect(await bad.leftovers()).toEqual([])
  })

  test('a linked tag that is no SHA-256 is not taken for one', async () => {
    const storage = await serve(file())
    const { run } = await setUp(redirectTo(() => `${storage.origin}/blob`, { 'x-linked-etag': '"d41d8cd98f00b204"' }))
    expect(await run()).toBe(contentSha256)
  })

  test('a file that cannot be the one that was configured is not even fetched', async () => {
    const storage = await serve(file())
    const { run, leftovers } = await setUp(redirectTo(() => `${storage.origin}/blob`, { 'x-linked-etag': contentSha256 }))
    await expect(run({ sha256: otherSha256 })).rejects.toThrow(`the configuration wants SHA-256 ${otherSha256}, but`)
    expect(await leftovers()).toEqual([])
  })

  test('the rest of a redirected file is asked for where it lies', async () => {
    const storage = await serve(file({ cutAfter: cutOnce(100_000) }))
    const { run } = await setUp(redirectTo(() => `${storage.origin}/blob`))
    await run({ maxResumes: 1, sha256: contentSha256 })
    expect(storage.requests[1]?.headers.range).toMatch(/^bytes=\d+-$/)
  })

  test.each([
    ['http://example.com/x', 'cannot be trusted: http://example.com'],
    ['file:///etc/passwd', 'cannot be trusted'],
    ['http://', 'cannot be trusted: no URL'],
  ])('to %s are not followed', async (location, message) => {
    const { run } = await setUp(redirectTo(() => location))
    await expect(run()).rejects.toThrow(message)
  })

  test('do not go in circles', async () => {
    const { run, requests } = await setUp(redirectTo(() => '/x.gguf'))
    await expect(run()).rejects.toThrow('redirects without end')
    expect(requests).toHaveLength(11)
  })
})

describe('failures', () => {
  test.each([
    [401, 'refuses access (status 401); set a token'],
    [404, 'has no such file (status 404); check its name; set a token'],
    [429, 'try again later'],
    [503, 'answered with status 503'],
  ])('status %i is explained', async (status, message) => {
    const { run } = await setUp((_request, response) => response.writeHead(status).end('no'))
    await expect(run({ accessHint: 'set a token' })).rejects.toThrow(message)
  })

  test('a host that does not answer is given up soon, and named', async () => {
    const { run } = await setUp(() => undefined)
    await expect(run({ answerTimeoutMs: 50 })).rejects.toThrow(/^127\.0\.0\.1:\d+ did not answer within 0.05 s$/)
  })

  test('a host that stops sending is given up, and what has arrived is kept', async () => {
    const { run, leftovers } = await setUp((_request, response) => {
      response.writeHead(200, { 'content-length': content.length, etag: '"one"' })
      response.write(content.subarray(0, 1000))
    })
    await expect(run({ stallTimeoutMs: 50 })).rejects.toThrow(/sent no bytes for 0.05 s; try again/)
    expect(await leftovers()).toEqual(['x.gguf.part', 'x.gguf.part.json'])
  })

  test('a host that refuses connections is named', async () => {
    const { run } = await setUp(() => undefined)
    const { origin, close } = await listenOnLoopback(() => undefined)
    await close()
    await expect(run({ url: `${origin}/x.gguf` })).rejects.toThrow(/^127\.0\.0\.1:\d+ cannot be reached \(.*ECONNREFUSED.*\)/)
  })
})

describe('abort', () => {
  test('before an answer rejects with the reason', async () => {
    const controller = new AbortController()
    const reason = new Error('stop')
    const { run } = await setUp(() => controller.abort(reason))
    await expect(run({ signal: controller.signal })).rejects.toBe(reason)
  })

  test('in the middle keeps what has arrived', async () => {
    const controller = new AbortController()
    const reason = new Error('stop')
    const { run, leftovers } = await setUp((_request, response) => {
      response.writeHead(200, { 'content-length': content.length, etag: '"one"' })
      response.write(content.subarray(0, 1000))
    })
    const running = run({ signal: controller.signal, onProgress: () => controller.abort(reason) })
    await expect(running).rejects.toBe(reason)
    expect(await leftovers()).toEqual(['x.gguf.part', 'x.gguf.part.json'])
  })
})
