import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  content,
  contentSha256,
  cutOnce,
  type FileOptions,
  file,
  type Handler,
  holds,
  otherSha256,
  setUp,
} from '../../../test/support/downloads.ts'
import { listenOnLoopback } from '../../../test/support/upstream/loopback.ts'

describe('a complete download', () => {
  test('a complete download is verified, placed, and leaves no other file', async () => {
    const { run, target, leftovers } = await setUp(file())
    const progress: unknown[] = []
    expect(await run({ sha256: contentSha256, onProgress: (state) => progress.push(state) })).toBe(contentSha256)
    expect(await holds(target, content)).toBe(true)
    expect(await leftovers()).toEqual(['x.gguf'])
    expect(progress.at(-1)).toEqual({ receivedBytes: content.length, totalBytes: content.length })
  })

  test('a complete download needs no size when there is a checksum', async () => {
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
  test('a lost connection leaves a part, and the next run requests only the rest', async () => {
    const { run, requests, target, leftovers } = await setUp(file({ cutAfter: cutOnce(100_000) }))
    await expect(run()).rejects.toThrow(/the connection to 127\.0\.0\.1:\d+ was lost/)
    expect(await leftovers()).toEqual(['x.gguf.part', 'x.gguf.part.json'])
    expect(await run({ sha256: contentSha256 })).toBe(contentSha256)
    expect(requests[1]?.headers).toMatchObject({ range: expect.stringMatching(/^bytes=[1-9]\d*-$/), 'if-range': '"one"' })
    expect(await holds(target, content)).toBe(true)
    expect(await leftovers()).toEqual(['x.gguf'])
  })

  test('a lost connection is resumed in the same run', async () => {
    const { run, requests } = await setUp(file({ cutAfter: cutOnce(100_000) }))
    expect(await run({ maxResumes: 1 })).toBe(contentSha256)
    expect(requests).toHaveLength(2)
  })

  test('a lost connection is resumed a limited number of times', async () => {
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
  test('an abort before a response rejects with the reason', async () => {
    const controller = new AbortController()
    const reason = new Error('stop')
    const { run } = await setUp(() => controller.abort(reason))
    await expect(run({ signal: controller.signal })).rejects.toBe(reason)
  })

  test('an abort during the transfer keeps the part', async () => {
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
