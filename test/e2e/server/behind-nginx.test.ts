import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../../support/http/app.ts'
import { openSocket } from '../../support/http/responses-socket.ts'
import { hasNginx, nginxHint, startNginx } from '../../support/process/nginx.ts'

/** A script that speaks for minutes: what comes of it comes while it runs. */
const endless = JSON.stringify({ chunks: ['first', ...Array.from({ length: 10_000 }, () => ' more')], delayMs: 50 })

describe.skipIf(!hasNginx).each([
  ['which keeps the path', '/llm', ''],
  ['which removes the beginning of the path', '/llm', '/'],
  ['which removes what the server does not know', '', '/'],
])(`behind an nginx %s (base path '%s')${nginxHint}`, (_, basePath, rest) => {
  let app: RunningApp
  let nginx: Awaited<ReturnType<typeof startNginx>>
  let base: string
  beforeAll(async () => {
    const models = [{ engine: 'fake' as const, id: 'org/echo', aliases: ['default'], script: 'from-request' as const }]
    app = await startApp({ models, builtinModel: false, server: { basePath } })
    nginx = await startNginx(`location /llm/ {
      proxy_pass ${new URL(app.url).origin}${rest};
      proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade;
    }`)
    base = `${nginx.url}/llm`
  })
  afterAll(async () => {
    await nginx.close()
    await app.close()
  })

  test('the links of its pages lead to what is there', async () => {
    const links: string[] = []
    for (const path of ['', '/', '/docs', '/docs/']) {
      const page = await fetch(base + path, { headers: { accept: 'text/html' } })
      const found = [...(await page.text()).matchAll(/(?:href|src)="(?!data:)([^"]+)"/g)].map(
        ([, link = '']) => new URL(link, page.url).href,
      )
      expect(found.length, path).toBeGreaterThan(0)
      links.push(...found)
    }
    for (const link of new Set(links)) {
      const reply = await fetch(link)
      await reply.arrayBuffer()
      expect([link, reply.status]).toEqual([link, 200])
    }
    expect(links).toContain(`${base}/openapi.json`)
    expect(links.some((link) => link.startsWith(`${base}/page/`))).toBe(true)
  })

  test('the servers of its OpenAPI document are below the address of the document', async () => {
    const reply = await fetch(`${base}/openapi.json`)
    const { servers } = (await reply.json()) as { readonly servers: readonly { readonly url: string }[] }
    expect(servers.map(({ url }) => new URL(url, reply.url).href)).toEqual([`${base}/`])
  })

  test('a stream arrives while it is generated', async () => {
    const leaving = new AbortController()
    const reply = await fetch(`${base}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'default', stream: true, messages: [{ role: 'user', content: endless }] }),
      signal: leaving.signal,
    })
    let text = ''
    const decoder = new TextDecoder()
    for await (const bytes of reply.body ?? []) {
      text += decoder.decode(bytes, { stream: true })
      if (text.includes('first')) break
    }
    expect(text).toContain('first')
    leaving.abort()
  })

  test('a WebSocket is opened', async () => {
    const { turn } = await openSocket(Number(new URL(nginx.url).port), {}, '/llm/v1/responses')
    expect(await turn({ input: 'hello' })).toMatchObject({ type: 'response.completed' })
  })

  test.each(['/v1/nothing', '/api/nothing', '/v1/messages'])('errors of %s have the form of their route', async (path) => {
    const ask = async (url: string) => {
      const reply = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' })
      return { ...((await reply.json()) as object), request_id: '' }
    }
    expect(await ask(base + path)).toEqual(await ask(app.url + path))
  })
})
