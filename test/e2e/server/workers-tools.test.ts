import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildProgram } from '../../support/process/built-program.ts'
import { type Seat, seatsOf, startWorkers, type WorkersServer } from '../../support/process/serve-workers.ts'
import { listenOnLoopback } from '../../support/upstream/loopback.ts'

const call = '<tool_call>{"name":"web_search","arguments":{"query":"tides"}}</tool_call>'
const script = [
  { result: 'Twice a day', reply: { raw: 'Twice a day.' } },
  { result: 'not approved', reply: { raw: 'Then not.' } },
  { reply: { raw: call } },
]

let folder: string
let service: Awaited<ReturnType<typeof listenOnLoopback>>
let server: WorkersServer
let here: Seat
let there: Seat
beforeAll(async () => {
  await buildProgram()
  folder = await mkdtemp(join(tmpdir(), 'dragoman-workers-tools-'))
  await writeFile(join(folder, 'script.yaml'), JSON.stringify(script))
  service = await listenOnLoopback((_, response) => {
    const found = { results: [{ url: 'https://a.example/', title: 'Tides', content: 'Twice a day.' }] }
    response.setHeader('content-type', 'application/json').end(JSON.stringify(found))
  })
  const models = [
    { id: 'm', engine: 'fake' as const, script: join(folder, 'script.yaml'), toolFormat: 'hermes' as const, slots: 4 },
  ]
  server = await startWorkers({ models, tools: { webSearch: { kind: 'searxng', url: service.origin } } })
  ;[here, there] = await seatsOf(server)
})
afterAll(async () => {
  await server?.stop()
  await service?.close()
  await rm(folder, { recursive: true, force: true })
})

const ask = {
  model: 'm',
  messages: [{ role: 'user', content: 'When?' }],
  enable_tools: true,
  permission_mode: 'ask',
  stream: true,
}

test.each([
  [true, 'Twice', 'Then'],
  [false, 'Then', 'Twice'],
])(
  'an approval (%j) that comes to one process reaches the call that waits in the other, and only once',
  async (approved, said, not) => {
    let waits: (id: string) => void = () => undefined
    const waiting = new Promise<string>((resolve) => {
      waits = resolve
    })
    const reply = here.follow('/api/inference/chat/completions', ask, (text) => {
      const [, id] = /"type":"tool_confirm".*?"tool_call_id":"([^"]+)"/.exec(text) ?? []
      if (id !== undefined) waits(id)
    })
    const decision = { tool_call_id: await waiting, approved }
    const decided = await there.post('/api/inference/tool-confirm', decision)
    expect(JSON.parse(decided.text)).toEqual(decision)
    const { text } = await reply
    expect([text.includes(said), text.includes(not)]).toEqual([true, false])

    const again = await there.post('/api/inference/tool-confirm', decision)
    expect(again.status).toBe(404)
    expect(again.text).toContain('another server behind the same address asked for it')
  },
)
