import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { Readable } from 'node:stream'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { roundsOf } from '../../../test/support/process/soak-length.ts'
import { privateUrls } from '../../../test/support/upstream/private-addresses.ts'
import type { JsonObject, WebTerms } from '../../contract/request.ts'
import type { ToolOutcome, ToolSource } from '../../contract/server-tool.ts'
import { parseBlock } from '../../media/address.ts'
import { createWebSearch, type WebSearchOptions } from './web-search.ts'

/** The service of the operator is at an address at which no page may be; pages are at one that the test allows. */
const serviceHost = '127.0.0.1'
const pageHost = '127.0.0.2'
const allowed = [parseBlock(pageHost)].filter((block) => block !== undefined)

type Site = { url: string; server: Server; sockets: Set<Socket>; hits: string[]; answer: RequestListener }

const sendNothing: RequestListener = (_, response) => response.end()

async function serve(host: string): Promise<Site> {
  const site: Site = { url: '', server: createServer(), sockets: new Set(), hits: [], answer: sendNothing }
  site.server.on('connection', (socket) => {
    site.sockets.add(socket)
    socket.on('close', () => site.sockets.delete(socket))
  })
  site.server.on('request', (request, response) => {
    site.hits.push(request.url ?? '')
    site.answer(request, response)
  })
  site.server.listen(0, host)
  await once(site.server, 'listening')
  site.url = `http://${host}:${(site.server.address() as AddressInfo).port}`
  return site
}

let service: Site
let pages: Site
/** One for all tests: threads, which read pages, take longer to start than a test. */
let source: ToolSource

beforeAll(async () => {
  service = await serve(serviceHost)
  pages = await serve(pageHost)
  source = create({})
})

beforeEach(() => {
  for (const site of [service, pages]) Object.assign(site, { hits: [], answer: sendNothing })
})

afterEach(() => {
  for (const { server } of [service, pages]) server.closeAllConnections()
})

afterAll(async () => {
  await source.close()
  for (const { server } of [service, pages]) server.close()
})

function create(options: Partial<WebSearchOptions>): ToolSource {
  return createWebSearch({ service: { kind: 'searxng', url: service.url }, results: 5, guard: { allowed }, ...options })
}

const wish = { principal: { id: 'p', scopes: new Set<never>() }, mcpServers: [], signal: new AbortController().signal }

async function run(args: JsonObject, signal = new AbortController().signal, web?: WebTerms): Promise<ToolOutcome> {
  const { tools } = await source.list(wish)
  const [tool] = tools
  if (tool === undefined) throw new Error('there is no tool')
  return tool.run({ arguments: args, session: { principalId: 'p', id: 's' }, signal, ...(web && { web }) })
}

const html: RequestListener = (_, response) =>
  response
    .writeHead(200, { 'content-type': 'text/html; charset=utf-8' })
    .end('<title>T</title><nav>menu</nav><h1>Head</h1><p>Some <b>words</b>, <a href="/b">a link</a>.<script>no()</script>')

describe('a search', () => {
  const results = Array.from({ length: 9 }, (_, n) => ({ url: `https://r.example/${n}`, title: `R${n}`, content: `words ${n}` }))

  test('a search gives five results with title, address and snippet, and a hint', async () => {
    service.answer = (_, response) => response.end(JSON.stringify({ results }))
    const { text, isError, sources } = await run({ query: ' two words ' })
    expect(service.hits).toEqual(['/search?q=two+words&format=json'])
    expect(isError).toBe(false)
    expect(text).toContain('1. R0\n   URL: https://r.example/0\n   words 0\n\n2. R1')
    expect(text).toMatch(/To read a page, call web_search with its `url`\.$/)
    expect(sources).toHaveLength(5)
    expect(sources?.[4]).toEqual({ url: 'https://r.example/4', title: 'R4', snippet: 'words 4' })
  })

  test('a search without results says so', async () => {
    service.answer = (_, response) => response.end('{"results": []}')
    expect(await run({ query: 'q' })).toMatchObject({ text: 'No results for: q', isError: false, sources: [] })
  })

  test.each<[string, RequestListener, string]>([
    ['refuses', (_, response) => response.writeHead(403).end('no'), 'status 403: `json` is not in `search.formats`'],
    ['leads elsewhere', (_, response) => response.writeHead(302, { location: pages.url }).end(), 'status 302'],
    ['sends a page', (_, response) => response.end('<html>'), 'is not the JSON of its kind'],
    ['hangs up', (request) => request.socket.destroy(), 'Search failed: '],
    ['sends without end', (_, response) => pour(response), 'more than 2 MiB'],
  ])('a search is a text when the service %s', async (_, answer, text) => {
    service.answer = answer
    const outcome = await run({ query: 'q' })
    expect(outcome).toMatchObject({ isError: true, advice: expect.stringContaining('without the search') })
    expect(outcome.text).toContain(text)
    expect(pages.hits).toEqual([])
  })

  test('a search needs words', async () => {
    for (const args of [{}, { query: '' }, { query: 5 }, { query: ['x'] }] as JsonObject[])
      expect((await run(args)).text).toContain('there is no query')
    expect((await run({ query: 'x'.repeat(1001) })).text).toContain('1001 characters')
    expect(service.hits).toEqual([])
  })
})

describe('a page', () => {
  test('a page of HTML is Markdown, with its title as a source', async () => {
    pages.answer = html
    const { text, isError, sources } = await run({ url: `${pages.url}/a` })
    expect(text).toBe(`URL: ${pages.url}/a\n\nT\n\n# Head\n\nSome **words**, [a link](${pages.url}/b).`)
    expect(isError).toBe(false)
    expect(sources).toEqual([{ url: `${pages.url}/a`, title: 'T' }])
  })

  test('a page is read also where there is a query', async () => {
    pages.answer = html
    expect((await run({ url: pages.url, query: 'q' })).text).toContain('# Head')
    expect(service.hits).toEqual([])
  })

  test('a page of plain text is that text, up to 16,000 characters of the first 512 KiB', async () => {
    pages.answer = (_, response) => pour(response.setHeader('content-type', 'text/plain'))
    const { text, isError } = await run({ url: pages.url })
    expect(isError).toBe(false)
    expect(text.length).toBeLessThan(16_200)
    expect(text).toContain('these are its first 16000 characters')
  })

  test('a page is behind five redirects at most', async () => {
    pages.answer = (request, response) => {
      const left = Number(request.url?.slice(1))
      if (left === 0) html(request, response)
      else response.writeHead(302, { location: `/${left - 1}` }).end()
    }
    expect((await run({ url: `${pages.url}/5` })).text).toContain(`URL: ${pages.url}/0`)
    expect((await run({ url: `${pages.url}/6` })).text).toContain('behind more than 5 redirects')
  })

  test.each<[string, RequestListener, string]>([
    ['is missing', (_, response) => response.writeHead(404).end(), 'status 404'],
    [
      'is a PDF',
      (_, response) => response.setHeader('content-type', 'application/pdf').end('%PDF'),
      'is not a text (application/pdf)',
    ],
    ['hangs up', (request) => request.socket.destroy(), 'cannot be fetched'],
    [
      'is empty',
      (_, response) => response.setHeader('content-type', 'text/html').end('<script>draw()</script>'),
      'may need a browser',
    ],
  ])('a page that %s is a text for the model', async (_, answer, text) => {
    pages.answer = answer
    expect((await run({ url: pages.url })).text).toContain(text)
  })

  test.each(['<div>', '<b>x', '<ul><li>', '<!--', '<table><tr><td>', '<a href="', '<', '<title>', '<a href=x></a>'])(
    'a page of %j, again and again, ends',
    async (piece) => {
      const body = piece.repeat(Math.floor((roundsOf(128, 512) * 1024) / piece.length))
      pages.answer = (_, response) => response.setHeader('content-type', 'text/html').end(body)
      expect((await run({ url: pages.url })).text.length).toBeLessThan(17_000)
    },
  )
})

describe('what a model is led to read', () => {
  const addresses = privateUrls.filter((url) => url.trim() !== '' && /^https?:/i.test(url.trim()))
  const here = () => new URL(service.url).port

  test.each(addresses)('is not %j', async (url) => {
    const { isError, text } = await run({ url: url.replaceAll('PORT', here()) })
    expect([isError, text]).toEqual([true, expect.stringMatching(/^Failed to fetch the page: it /)])
    expect(service.hits).toEqual([])
  })

  test.each(addresses)('is not behind a redirect to %j', async (url) => {
    const location = Buffer.from(url.replaceAll('PORT', here()).replaceAll(/[\t\n]/g, '')).toString('latin1')
    pages.answer = (_, response) => response.writeHead(302, { location }).end()
    expect((await run({ url: pages.url })).isError).toBe(true)
    expect(service.hits).toEqual([])
  })

  test.each(['file:///etc/passwd', 'ftp://x.example/', 'data:text/html,x', 'gopher://x/', 'http://u:p@x.example/'])(
    'is not %s',
    async (url) => {
      expect(await run({ url })).toMatchObject({ isError: true, text: expect.stringMatching(/has the scheme|has credentials/) })
    },
  )

  test('is not the search service, which only searches may ask', async () => {
    expect((await run({ url: `${service.url}/search?q=x` })).text).toContain('is not at a public address')
    expect(service.hits).toEqual([])
  })
})

describe('the sites of a request', () => {
  const { signal } = new AbortController()

  test('the sites of a request are those of what is found', async () => {
    const results = ['https://a.example/1', 'https://b.example/2'].map((url) => ({ url, title: url }))
    service.answer = (_, response) => response.end(JSON.stringify({ results }))
    const { sources, text } = await run({ query: 'q' }, signal, { searches: { blocked: ['a.example'] } })
    expect(sources?.map(({ url }) => url)).toEqual(['https://b.example/2'])
    expect(text).not.toContain('a.example')
  })

  test.each<WebTerms>([{ pages: { allowed: ['a.example'] } }, { searches: { allowed: ['a.example'] } }])(
    '%j are those of what is read',
    async (web) => {
      const { text, isError } = await run({ url: pages.url }, signal, web)
      expect([text, isError]).toEqual(['Failed to fetch the page: it is at a site that the request does not allow.', true])
      expect(pages.hits).toEqual([])
    },
  )

  test('the sites of a request hold for redirects', async () => {
    pages.answer = ({ url }, response) => response.writeHead(302, { location: url === '/a' ? '/secret/b' : '/a' }).end()
    const { text } = await run({ url: `${pages.url}/a` }, signal, { pages: { blocked: [`${pageHost}/secret`] } })
    expect(text).toContain('is at a site that the request does not allow')
    expect(pages.hits).toEqual(['/a'])
  })
})

describe('a cancel', () => {
  test.each<[string, JsonObject, () => Site]>([
    ['a search', { query: 'q' }, () => service],
    ['a page', { url: 'PAGE' }, () => pages],
  ])('a cancel ends %s immediately, with its connection', async (_, args, site) => {
    const asked = new Promise<void>((resolve) => {
      site().answer = () => resolve()
    })
    const cancel = new AbortController()
    const running = run(JSON.parse(JSON.stringify(args).replace('PAGE', pages.url)), cancel.signal)
    await asked
    const closed = Promise.all([...site().sockets].map((socket) => once(socket, 'close')))
    cancel.abort()
    expect(await running).toMatchObject({ isError: true, text: expect.stringContaining('cancelled') })
    await closed
    expect(site().sockets.size).toBe(0)
  })

  test('a cancel before the beginning sends no request', async () => {
    for (const args of [{ query: 'q' }, { url: pages.url }])
      expect((await run(args, AbortSignal.abort())).text).toContain('cancelled')
    expect([...service.hits, ...pages.hits]).toEqual([])
  })
})

test('a service whose key is missing is absent, and says why', async () => {
  const keyless = create({ missing: 'set BRAVE_KEY' })
  expect(await keyless.list(wish)).toEqual({ tools: [], absent: [{ name: 'web_search', why: 'set BRAVE_KEY' }] })
  await keyless.close()
})

/** Sends as long as it is taken. */
function pour(response: Parameters<RequestListener>[1]): void {
  Readable.from(
    (function* () {
      for (;;) yield 'word '.repeat(20_000)
    })(),
  ).pipe(response)
}
