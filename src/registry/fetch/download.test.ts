import { createHash, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { listenOnLoopback } from '../../../test/support/upstream/loopback.ts'
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

/** Serves a file as a correct server does, with faults on request. */
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

/** How much of the file the download under test has received. */
let receivedBytes = 0

/** Drops a connection once its reader has received what was sent: newer versions of Node discard unread bytes. */
async function breakOff(response: ServerResponse, sentBytes: number): Promise<void> {
  while (receivedBytes < sentBytes && !response.destroyed) await nextTurn()
  response.destroy()
}

/** A connection that is lost after so many bytes once, and works the next time. */
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

/** Compares bytes directly: the matcher takes half a second. */
async function holds(path: string, bytes: Buffer): Promise<boolean> {
  return bytes.equals(await readFile(path))
}

describe('a complete download', () => {
  test('is verified, placed, and leaves no other file', async () => {
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
    await expect(unsized.run()).rejects.toThrow('sent no size or checksum to verify the file with')
    expect(await unsized.run({ sha256: contentSha256 })).toBe(contentSha256)
  })

  test('replaces an existing file only at the end', async () => {
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

describe('a lost connection', () => {
  test('leaves a part, and the next run requests only the rest', async () => {
    const { run, requests, target, leftovers } = await setUp(file({ cutAfter: cutOnce(100_000) }))
    await expect(run()).rejects.toThrow(/the connection to 127\.0\.0\.1:\d+ was lost/)
    expect(await leftovers()).toEqual(['x.gguf.part', 'x.gguf.part.json'])
    expect(await run({ sha256: contentSha256 })).toBe(contentSha256)
    expect(requests[1]?.headers).toMatchObject({ range: expect.stringMatching(/^bytes=[1-9]\d*-$/), 'if-range': '"one"' })
    expect(await holds(target, content)).toBe(true)
    expect(await leftovers()).toEqual(['x.gguf'])
  })

  test('is resumed in the same run', async () => {
    const { run, requests } = await setUp(file({ cutAfter: cutOnce(100_000) }))
    expect(await run({ maxResumes: 1 })).toBe(contentSha256)
    expect(requests).toHaveLength(2)
  })

  test('is resumed only so many times', async () => {
    const { run, requests } = await setUp(file({ cutAfter: () => 1000 }))
    await expect(run({ maxResumes: 3 })).rejects.toThrow('was lost')
    expect(requests).toHaveLength(4)
  })
})

describe('a part that cannot be continued', () => {
  test.each<[string, FileOptions]>([
    ['the file has changed', { body: randomBytes(200_000), etag: '"two"' }],
    ['the server ignores ranges', { ranges: false }],
  ])('%s: the download starts over', async (_case, later) => {
    let options: FileOptions = { cutAfter: cutOnce(100_000) }
    const { run, target, leftovers } = await setUp((request, response) => file(options)(request, response))
    await expect(run()).rejects.toThrow('was lost')
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
    [
      'less than the rest',
      (request, response) => {
        const start = Number(/\d+/.exec(request.headers.range ?? '')?.[0])
        response
          .writeHead(206, { etag: '"one"', 'content-range': `bytes ${start}-${start + 9}/300000` })
          .end(content.subarray(start, start + 10))
      },
    ],
    // What only the bytes show, where no checksum is known.
    ...(
      [
        ['the right headers and the beginning of the file', (start: number) => content.subarray(0, content.length - start)],
        ['the right headers and another file', (start: number) => randomBytes(content.length - start)],
        ['the right headers and bytes that are shifted by one', (start: number) => content.subarray(start - 1, -1)],
      ] as const
    ).map(([name, bytesFrom]): [string, Handler] => [
      name,
      (request, response) => {
        const start = Number(/\d+/.exec(request.headers.range ?? '')?.[0])
        response.writeHead(206, { etag: '"one"', 'content-range': `bytes ${start}-299999/300000` }).end(bytesFrom(start))
      },
    ]),
  ])('the server answers with %s: the download starts over', async (_case, odd) => {
    const whole = file({ cutAfter: cutOnce(100_000) })
    const { run, target } = await setUp((request, response) => {
      const handler = request.headers.range === undefined ? whole : odd
      handler(request, response)
    })
    await expect(run()).rejects.toThrow('was lost')
    await run()
    expect(await holds(target, content)).toBe(true)
  })

  test('a part of another URL is not continued', async () => {
    const { run, requests, origin } = await setUp(file({ cutAfter: cutOnce(100_000) }))
    await expect(run()).rejects.toThrow('was lost')
    await run({ url: `${origin}/y.gguf` })
    expect(requests[1]?.headers.range).toBeUndefined()
  })

  test('a part with a weak ETag is not continued', async () => {
    const { run, requests } = await setUp(file({ etag: 'W/"one"', cutAfter: cutOnce(100_000) }))
    await run({ maxResumes: 1 })
    expect(requests[1]?.headers.range).toBeUndefined()
  })

  test('a range that was not requested is refused', async () => {
    const { run } = await setUp((_request, response) => response.writeHead(206, { 'content-range': 'bytes 0-4/5' }).end('abcde'))
    await expect(run()).rejects.toThrow('answered a request for the whole file with status 206')
  })
})

describe('verification', () => {
  test('a wrong checksum deletes the download and reports both values', async () => {
    const { run, leftovers } = await setUp(file())
    const message = `the file's SHA-256 is ${contentSha256}, but the configuration says ${otherSha256}; the download was deleted`
    await expect(run({ sha256: otherSha256 })).rejects.toThrow(message)
    expect(await leftovers()).toEqual([])
  })

  test('a resumed file with a damaged first part is deleted', async () => {
    const broken = Buffer.concat([Buffer.alloc(10), content.subarray(10)])
    let options: FileOptions = { body: broken, cutAfter: cutOnce(100_000) }
    const { run, leftovers } = await setUp((request, response) => file(options)(request, response))
    await expect(run()).rejects.toThrow('was lost')
    options = {}
    await expect(run({ sha256: contentSha256 })).rejects.toThrow('SHA-256')
    expect(await leftovers()).toEqual([])
  })

  test('a body shorter than announced counts as a lost connection', async () => {
    const { run, leftovers } = await setUp((_request, response) => {
      response.writeHead(200, { 'content-length': content.length + 1 })
      response.write(content, () => response.destroy())
    })
    await expect(run()).rejects.toThrow('was lost')
    expect(await leftovers()).toEqual(['x.gguf.part'])
  })

  test('a resumed file with the wrong size is deleted', async () => {
    const { run, leftovers } = await setUp((request, response) => {
      if (request.headers.range === undefined) return file({ cutAfter: cutOnce(100_000) })(request, response)
      const start = Number(/\d+/.exec(request.headers.range)?.[0])
      response.writeHead(206, { 'content-range': `bytes ${start}-299999/300000` }).end(content.subarray(start, -5))
    })
    await expect(run()).rejects.toThrow('was lost')
    await expect(run()).rejects.toThrow('the file has 299995 bytes instead of 300000; the download was deleted')
    expect(await leftovers()).toEqual([])
  })

  test('a compressed response is refused', async () => {
    const { run } = await setUp(file({ headers: { 'content-encoding': 'gzip' } }))
    await expect(run()).rejects.toThrow('sent the file encoded as gzip, which was not accepted')
  })
})

describe('redirects', () => {
  const redirectTo = (location: () => string, headers: Record<string, string> = {}): Handler => {
    return (_request, response) => response.writeHead(302, { location: location(), ...headers }).end()
  }

  test('a token is sent to the first host and to no other', async () => {
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

  test('a linked ETag that is not a SHA-256 is ignored', async () => {
    const storage = await serve(file())
    const { run } = await setUp(redirectTo(() => `${storage.origin}/blob`, { 'x-linked-etag': '"d41d8cd98f00b204"' }))
    expect(await run()).toBe(contentSha256)
  })

  test('a file whose linked checksum differs from the configured one is not fetched', async () => {
    const storage = await serve(file())
    const { run, leftovers } = await setUp(redirectTo(() => `${storage.origin}/blob`, { 'x-linked-etag': contentSha256 }))
    await expect(run({ sha256: otherSha256 })).rejects.toThrow(`the configuration expects SHA-256 ${otherSha256}, but`)
    expect(await leftovers()).toEqual([])
  })

  test('the rest of a redirected file is requested from the redirect target', async () => {
    const storage = await serve(file({ cutAfter: cutOnce(100_000) }))
    const { run } = await setUp(redirectTo(() => `${storage.origin}/blob`))
    await run({ maxResumes: 1, sha256: contentSha256 })
    expect(storage.requests[1]?.headers.range).toMatch(/^bytes=\d+-$/)
  })

  test.each([
    ['http://example.com/x', 'is not trusted: http://example.com'],
    ['file:///etc/passwd', 'is not trusted'],
    ['http://', 'is not trusted: not a URL'],
  ])('to %s are not followed', async (location, message) => {
    const { run } = await setUp(redirectTo(() => location))
    await expect(run()).rejects.toThrow(message)
  })

  test('are followed ten times at most', async () => {
    const { run, requests } = await setUp(redirectTo(() => '/x.gguf'))
    await expect(run()).rejects.toThrow('redirects more than 10 times')
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

  test('a file for which the disk has no room is not fetched: the error has the bytes that are needed and free', async () => {
    const petabyte = 10 ** 15
    const { run, leftovers } = await setUp((_, response) => {
      response.writeHead(200, { etag: '"huge"', 'content-length': petabyte })
      response.write(content)
    })
    await expect(run()).rejects.toMatchObject({
      code: 'model-unavailable',
      message: expect.stringMatching(
        /^the disk has too little space: 1000\.0 TB \(1000000000000000 bytes\) are needed, and .+ \(\d+ bytes\) are free in .+deep: delete files/,
      ),
    })
    expect(await leftovers()).not.toContain('x.gguf')
  })

  test('a host that does not answer times out and is named', async () => {
    const { run } = await setUp(() => undefined)
    await expect(run({ responseTimeoutMs: 50 })).rejects.toThrow(/^127\.0\.0\.1:\d+ did not answer within 0.05 s$/)
  })

  test('a host that stops sending times out, and the part is kept', async () => {
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
  test('before a response rejects with the reason', async () => {
    const controller = new AbortController()
    const reason = new Error('stop')
    const { run } = await setUp(() => controller.abort(reason))
    await expect(run({ signal: controller.signal })).rejects.toBe(reason)
  })

  test('during the transfer keeps the part', async () => {
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
