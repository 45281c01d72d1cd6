import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startApp } from '../http/app.ts'
import { createJudge, type OpenapiDocument } from '../http/openapi-judge.ts'
import { listenOnLoopback } from '../upstream/loopback.ts'

const search = '<tool_call>{"name": "web_search", "arguments": {"query": "tides"}}</tool_call>'
const weather = '<tool_call>{"name": "weather", "arguments": {"city": "Oslo"}}</tool_call>'
const echo = '<tool_call>{"name": "docs__echo", "arguments": {"text": "so be it"}}</tool_call>'
const sum = '<tool_call>{"name": "python", "arguments": {"code": "print(2 + 2)"}}</tool_call>'
const wait = '<tool_call>{"name": "docs__wait", "arguments": {}}</tool_call>'
const script = `
- result: '\\[[0-9,]*\\]'
  reply: { raw: 'These.' }
- result: so be it
  reply: { raw: 'It said so.' }
- result: not approved
  reply: { raw: 'Then not.' }
- result: "Output of python.*\\n4"
  reply: { raw: 'Four.' }
- match: two and two
  reply: { raw: '${sum}' }
- match: echo
  reply: { raw: '${echo}' }
- match: who was cancelled
  reply: { raw: '<tool_call>{"name": "docs__cancelled", "arguments": {}}</tool_call>' }
- match: hang
  reply: { raw: '${wait}' }
- result: (Twice a day)
  reply: { raw: '$1, the page says.' }
- match: tides
  reply: { raw: 'I look. ${search}' }
- match: Oslo
  reply: { raw: '${weather}' }
- reply: { raw: 'Hello.' }
`
const found = { results: [{ url: 'https://a.example/tides', title: 'Tides', content: 'Twice a day.' }] }

const program = fileURLToPath(new URL('../mcp/program.mjs', import.meta.url))

/** A server with all kinds of tools, and a scripted model that calls them. Keys: `with-tools`, and `without`. */
export async function startToolServer() {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-server-tools-'))
  // Programs may run as another user.
  await chmod(folder, 0o711)
  await writeFile(join(folder, 'script.yaml'), script)
  const queries: string[] = []
  const service = await listenOnLoopback(({ url = '' }, response) => {
    queries.push(new URL(url, 'http://x').searchParams.get('q') ?? '')
    response.setHeader('content-type', 'application/json').end(JSON.stringify(found))
  })
  const app = await startApp({
    storage: join(folder, 'store.db'),
    models: [{ id: 'scripted', engine: 'fake', script: join(folder, 'script.yaml'), toolFormat: 'hermes' }],
    tools: {
      python: true,
      sessions: { folder: join(folder, 'sandbox') },
      webSearch: { kind: 'searxng', url: service.origin },
      mcp: { docs: { command: process.execPath, args: [program] } },
    },
    server: {
      apiKeys: [
        { key: 'with-tools', scopes: ['inference', 'tools'] },
        { key: 'without', scopes: ['inference'] },
      ],
    },
  })
  const document = (await (await fetch(`${app.url}/openapi.json`)).json()) as OpenapiDocument
  return {
    app,
    folder,
    /** What was searched for. */
    queries,
    document,
    judge: createJudge(document),
    close: async () => {
      await app.close()
      await service.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
