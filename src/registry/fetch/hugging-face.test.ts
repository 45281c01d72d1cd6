import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { listenOnLoopback } from '../../../test/support/upstream/loopback.ts'
import { parseSource } from '../names/sources.ts'
import { ensureModelFile } from './fetch-model.ts'
import { huggingFaceAddress } from './hugging-face.ts'

const content = Buffer.from('GGUF and more')

type Reply = (request: IncomingMessage, response: ServerResponse) => void

const entry = (path: string, size: number) => ({ type: 'file', oid: 'x', path, size })
/** More than any list, as fast as it is read. */
const endless: Reply = (_, response) => {
  const more = () => {
    while (!response.destroyed && response.write(Buffer.alloc(1 << 20, ' ')));
    response.once('drain', more)
  }
  more()
}
/** Pages of three megabytes, each with another one behind it. */
const longPages: Reply = ({ url = '' }, response) => {
  const page = Number(new URL(url, 'http://hub').searchParams.get('page') ?? 0) + 1
  response.writeHead(200, { link: `</next?page=${page}>; rel="next"` })
  response.end(JSON.stringify([entry(`${page}${'x'.repeat(3_000_000)}.gguf`, 1)]))
}

const listing = [
  { type: 'directory', oid: 'x', path: 'old', size: 0 },
  entry('README.md', 100),
  entry('m-Q4_K_M.gguf', 5e9),
  entry('m-Q8_0.gguf', 3e9),
  entry('mmproj-m-F16.gguf', 1e8),
]

/** A mirror with the given list of files, whose files are all the same. */
async function setUp(list: Reply | object) {
  const home = await mkdtemp(join(tmpdir(), 'dragoman-hub-'))
  const seen: string[] = []
  const tokens = new Set<string | undefined>()
  const { origin, close } = await listenOnLoopback((request, response) => {
    seen.push(request.url ?? '')
    tokens.add(request.headers.authorization)
    if (request.url?.includes('/resolve/')) response.end(content)
    else if (typeof list === 'function') list(request, response)
    else response.end(JSON.stringify(list))
  })
  onTestFinished(async () => {
    await close()
    await rm(home, { recursive: true })
  })
  const notes: string[] = []
  const ensure = (source: string, env: Record<string, string> = {}) =>
    ensureModelFile([parseSource(source)], {
      home,
      env: { HF_ENDPOINT: `${origin}/hub/`, ...env },
      onNote: (note) => notes.push(note),
      memoryBytes: 8e9,
      responseTimeoutMs: 2000,
    })
  return { home, origin, seen, tokens, notes, ensure }
}

test.each([
  [undefined, 'https://huggingface.co'],
  ['', 'https://huggingface.co'],
  ['https://mirror.example', 'https://mirror.example'],
])('with HF_ENDPOINT %j Hugging Face is at %s', (endpoint, address) => {
  expect(huggingFaceAddress(endpoint)).toBe(address)
})

describe('a repository without a file', () => {
  test('a repository is listed on the mirror, and the file that fits is taken, with the reason', async () => {
    const { ensure, home, seen, notes, tokens } = await setUp(listing)
    const file = await ensure('hf:o/r-GGUF', { HF_TOKEN: 'secret' })
    expect(file).toBe(join(home, 'models/hf/o/r-GGUF/main/m-Q8_0.gguf'))
    expect(
      createHash('sha256')
        .update(await readFile(file))
        .digest('hex'),
    ).toBe(createHash('sha256').update(content).digest('hex'))
    expect(seen).toEqual(['/hub/api/models/o/r-GGUF/tree/main?recursive=true', '/hub/o/r-GGUF/resolve/main/m-Q8_0.gguf'])
    expect([...tokens]).toEqual(['Bearer secret'])
    expect(notes).toEqual([
      'hf:o/r-GGUF: taking m-Q8_0.gguf (3.0 GB, the only one that fits into half of the memory (8.0 GB))',
      'fetching hf:o/r-GGUF/m-Q8_0.gguf',
    ])
  })

  test('a repository needs no network the next time', async () => {
    const { ensure, seen } = await setUp(listing)
    const file = await ensure('hf:o/r')
    const requests = seen.length
    expect(await ensure('hf:o/r', { HF_ENDPOINT: 'http://127.0.0.1:9' })).toBe(file)
    expect(seen).toHaveLength(requests)
  })

  test('the file is chosen again when it was deleted', async () => {
    const { ensure, seen } = await setUp(listing)
    const file = await ensure('hf:o/r@v1')
    await rm(file)
    expect(await ensure('hf:o/r@v1')).toBe(file)
    expect(seen.filter((url) => url === '/hub/api/models/o/r/tree/v1?recursive=true')).toHaveLength(2)
  })

  test('a repository is read to its last page, on the mirror although the link names the hub', async () => {
    const { ensure, seen } = await setUp((request, response) => {
      const isFirst = !request.url?.includes('cursor')
      const link = '<https://hub.example/api/models/o/r/tree/main?recursive=true&cursor=ab%3D>; rel="next"'
      response.writeHead(200, isFirst ? { link } : {})
      response.end(JSON.stringify([isFirst ? entry('a-Q8_0.gguf', 1) : entry('b-Q4_K_M.gguf', 1)]))
    })
    expect(await ensure('hf:o/r')).toMatch(/b-Q4_K_M\.gguf$/)
    expect(seen[1]).toBe('/hub/api/models/o/r/tree/main?recursive=true&cursor=ab%3D')
  })

  // Asking again is of no use: clients repeat a 503.
  test.each<[string, number, RegExp]>([
    ['does not exist', 404, /has no repository o\/r with the revision main \(status 404\)/],
    ['is private or missing', 401, /401\); check the name o\/r; .*set HF_TOKEN/],
  ])('a repository that %s is not found', async (_, status, message) => {
    const { ensure } = await setUp((_, response) => response.writeHead(status).end())
    const failing = ensure('hf:o/r')
    await expect(failing).rejects.toMatchObject({ code: 'model-not-found' })
    await expect(failing).rejects.toThrow(message)
  })

  test.each<[string, Reply | object, RegExp]>([
    ['has no model', [entry('README.md', 1)], /^hf:o\/r: the repository has no \.gguf file/],
    ['has models too large', [entry('m-Q2_K.gguf', 7e9)], /^hf:o\/r: no \.gguf file fits .* name it: m-Q2_K\.gguf \(7\.0 GB\)$/],
    ['is listed as a page', (_, response) => response.end('<html>'), /did not send a list of the repository's files/],
    ['is listed in another form', { files: [] }, /did not send a list of the repository's files/],
    ['has a page without an end', endless, /did not send a list of the repository's files/],
    ['has pages of wrong entries', Array.from({ length: 10_001 }, () => 0), /did not send a list of the repository's files/],
    ['has too long a list', longPages, /did not send a list of the repository's files/],
    ['has no file with a plain path', [entry('../m.gguf', 1)], /can be taken by itself/],
    ['is not listed in time', (_, response) => response.flushHeaders(), /did not send its list of files within 2 s/],
  ])('a repository that %s is one clear line', async (_, reply, message) => {
    const { ensure } = await setUp(reply)
    const failing = ensure('hf:o/r')
    await expect(failing).rejects.toMatchObject({ code: 'model-unavailable' })
    await expect(failing).rejects.toThrow(message)
    await expect(failing).rejects.toThrow(/^[^\n]+$/)
  })

  test('a repository without a network is one clear line, without a wait', async () => {
    const { ensure } = await setUp(listing)
    const failing = ensure('hf:o/r', { HF_ENDPOINT: 'http://127.0.0.1:9' })
    await expect(failing).rejects.toThrow(/^hf:o\/r: 127\.0\.0\.1:9 cannot be reached \([^\n]+\); check the network, [^\n]+$/)
  })
})
