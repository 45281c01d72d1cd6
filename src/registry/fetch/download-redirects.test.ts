import { describe, expect, test } from 'vitest'
import {
  content,
  contentSha256,
  cutOnce,
  file,
  type Handler,
  holds,
  otherSha256,
  serve,
  setUp,
} from '../../../test/support/downloads.ts'

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
  ])('redirects to %s are not followed', async (location, message) => {
    const { run } = await setUp(redirectTo(() => location))
    await expect(run()).rejects.toThrow(message)
  })

  test('redirects are followed ten times at most', async () => {
    const { run, requests } = await setUp(redirectTo(() => '/x.gguf'))
    await expect(run()).rejects.toThrow('redirects more than 10 times')
    expect(requests).toHaveLength(11)
  })
})
