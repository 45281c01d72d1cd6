import { describe, expect, test } from 'vitest'
import { until } from '../../test/support/http/app.ts'
import { openChat } from '../../test/support/http/raw-client.ts'
import { openTestServer, type TestServerOptions } from '../../test/support/http/test-server.ts'
import { soon } from '../../test/support/process/stall-bound.ts'
import { hashApiKey } from '../app/keys/made-keys.ts'
import { createToolLog } from '../app/log/tool-log.ts'
import type { Scope } from '../contract/principal.ts'
import type { ServerTool, ToolOutcome, ToolRun } from '../contract/server-tool.ts'
import { ToolApprovals } from '../core/tool-loop/tool-approvals.ts'
import { createFakeEngine } from '../engine/fake/engine.ts'
import { parseScriptFile } from '../engine/fake/script.ts'
import { SourceToolBox } from '../tools/tool-box.ts'

const script = `
- result: sunny
  reply: { raw: It is sunny. }
- result: not approved
  reply: { raw: Then not. }
- match: weather
  reply: { raw: 'Let me look.<tool_call>{"name":"web_search","arguments":{"query":"secret weather"}}</tool_call>' }
- reply: { raw: Hello. }
`

const sunny: ToolOutcome = { text: 'sunny, 20 degrees', isError: false }

type Setup = Partial<TestServerOptions> & {
  readonly run?: (call: ToolRun) => Promise<ToolOutcome>
  readonly needsApproval?: true
}

function open({ run = async () => sunny, needsApproval, ...options }: Setup = {}) {
  const tool: ServerTool = {
    name: 'web_search',
    kind: 'web-search',
    description: 'Searches.',
    parameters: {},
    ...(needsApproval === true && { needsApproval }),
    run,
  }
  const source = {
    list: () => ({ tools: [tool], absent: [{ name: 'python', why: 'no isolation here' }] }),
    close: async () => undefined,
  }
  const server = openTestServer({
    engine: createFakeEngine({ script: parseScriptFile(script, 'script'), toolFormat: 'hermes' }),
    tools: new SourceToolBox([source], ['web_search', 'python']),
    approvals: new ToolApprovals(),
    ...options,
  })
  const post = async (path: string, body: object, headers: Record<string, string> = {}) => {
    const reply = await server.app.inject({ method: 'POST', url: path, payload: body, headers })
    return { status: reply.statusCode, headers: reply.headers, text: reply.body, json: () => reply.json() }
  }
  return { ...server, post }
}

/** What OpenAI's SDKs send. */
const ofSdk = { 'x-stainless-lang': 'js' }

const asked = (more: object = {}) => ({
  model: 'default',
  messages: [{ role: 'user', content: 'How is the weather?' }],
  enable_tools: true,
  ...more,
})

/** The data of a stream: the types of Unsloth's frames, and texts. */
const framesOf = (text: string) =>
  text
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice('data: '.length)))

const contentOf = (text: string) =>
  framesOf(text)
    .map(({ choices }) => choices?.[0]?.delta.content ?? '')
    .join('')

describe('enable_tools', () => {
  test('has the server run the call; the reply is what the model says in the end', async () => {
    const { post } = open()
    const reply = await post('/v1/chat/completions', asked())
    expect(reply.json()).toMatchObject({
      choices: [{ message: { role: 'assistant', content: 'It is sunny.' }, finish_reason: 'stop' }],
      usage: { completion_tokens: expect.any(Number) },
    })
    expect(reply.text).not.toContain('tool_calls')
  })

  test('streams what is said before and after, and nothing that OpenAI’s SDKs do not know', async () => {
    const { post } = open()
    const { text } = await post('/v1/chat/completions', asked({ stream: true }), ofSdk)
    expect(contentOf(text)).toBe('Let me look.\n\nIt is sunny.')
    for (const frame of framesOf(text)) expect(frame).toMatchObject({ object: 'chat.completion.chunk', id: /^chatcmpl-/ })
    expect(framesOf(text).at(-1)).toMatchObject({ choices: [{ finish_reason: 'stop' }] })
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true)
  })

  test('shows Unsloth’s clients each call', async () => {
    const { post } = open()
    const { text } = await post('/api/inference/chat/completions', asked({ stream: true }))
    const frames = framesOf(text)
    const id = frames.find(({ type }) => type === 'tool_start').tool_call_id
    const call = { tool_name: 'web_search', tool_call_id: id }
    expect(frames.filter(({ type }) => type !== undefined)).toEqual([
      { type: 'tool_status', content: 'Searching: secret weather' },
      { type: 'tool_start', ...call, arguments: { query: 'secret weather' } },
      { type: 'tool_end', ...call, result: 'sunny, 20 degrees' },
      { type: 'tool_status', content: '' },
    ])
    const places = frames.map(({ type, choices }) => type ?? choices?.[0]?.delta.content)
    expect(places.indexOf('tool_start')).toBeGreaterThan(places.indexOf('look.'))
    expect(places.indexOf('tool_end')).toBeLessThan(places.findIndex((place) => /It/.test(place ?? '')))
  })

  test('false, null or absent is a plain chat, whose other fields for tools are named as ignored', async () => {
    const { post } = open()
    for (const enable_tools of [false, null, undefined]) {
      const reply = await post('/v1/chat/completions', asked({ enable_tools, enabled_tools: ['web_search'] }))
      expect(reply.json().choices[0].message.content).toContain('Let me look.')
      expect(reply.headers['x-dragoman-ignored']).toBe('enabled_tools')
    }
  })

  test('with an empty list of tools is a plain chat', async () => {
    const { post } = open()
    expect((await post('/v1/chat/completions', asked({ enabled_tools: [] }))).status).toBe(200)
  })

  test.each([
    [{ tools: [{ type: 'function', function: { name: 'f' } }] }, 'tools', 'enable_tools has the server run its own'],
    [{ functions: [{ name: 'f' }] }, 'functions', 'enable_tools has the server run its own'],
    [{ enabled_tools: ['web_search', 'rm'] }, 'enabled_tools[1]', "'rm' is not a tool of this server; there are: web_search"],
    [{ enabled_tools: ['python'] }, 'enabled_tools[0]', "'python' cannot be used: no isolation here"],
    [{ n: 2 }, 'n', 'enable_tools allows one'],
    [{ max_tool_calls_per_message: -1 }, 'max_tool_calls_per_message', 'at least 0'],
    [{ tool_call_timeout: 0 }, 'tool_call_timeout', 'at least 1'],
    [{ permission_mode: 'never' }, 'permission_mode', 'never'],
    [{ enabled_tools: 'web_search' }, 'enabled_tools', 'an array of names'],
  ])('refuses %j by name', async (more, param, message) => {
    const { post } = open()
    const reply = await post('/v1/chat/completions', asked(more))
    expect(reply.status).toBe(400)
    expect(reply.json().error).toMatchObject({ param, message: expect.stringContaining(message) })
  })

  test('needs the scope of the key', async () => {
    const scopes = new Set<Scope>(['public', 'inference'])
    const { post } = open({ auth: { apiKeys: [{ hash: hashApiKey('k'), scopes }] } })
    const reply = await post('/v1/chat/completions', asked(), { authorization: 'Bearer k' })
    expect(reply.status).toBe(403)
    expect(reply.json().error).toMatchObject({ message: expect.stringMatching(/enable_tools.*scope 'tools'/) })
  })

  test('of a server without tools says that its configuration turns none on', async () => {
    const { post } = open({ tools: new SourceToolBox([]) })
    const reply = await post('/v1/chat/completions', asked())
    expect(reply.status).toBe(400)
    expect(reply.json().error).toMatchObject({ param: 'enable_tools', message: expect.stringContaining('turns none on') })
  })

  test('with a budget of 0, or used up, ends in an answer without tools', async () => {
    let ran = 0
    const { post } = open({
      run: async () => {
        ran += 1
        return sunny
      },
    })
    expect((await post('/v1/chat/completions', asked({ max_tool_calls_per_message: 0 }))).status).toBe(200)
    expect(ran).toBe(0)
    expect((await post('/v1/chat/completions', asked({ max_tool_calls_per_message: 1 }))).status).toBe(200)
    expect(ran).toBe(1)
  })

  test('gives a call the time that the request says', async () => {
    const hanging = () => new Promise<never>(() => undefined)
    const { post } = open({ run: hanging })
    const { text } = await post(
      '/api/inference/chat/completions',
      asked({ stream: true, tool_call_timeout: 1, max_tool_calls_per_message: 1 }),
    )
    expect(framesOf(text).find(({ type }) => type === 'tool_end').result).toBe('The call took longer than 1 s and was ended.')
  })
})

describe('a count of tokens has what the model reads of the tools', () => {
  const model = 'default'
  const messages = [{ role: 'user', content: 'Hi' }]
  const search = { type: 'web_search_20250305', name: 'web_search' }
  const chat = { model, messages, enable_tools: true }
  const message = { model, messages, tools: [search] }
  const response = { model, input: 'Hi', tools: [{ type: 'web_search' }] }

  test.each([
    ['/v1/chat/count_tokens', chat, '/v1/chat/completions', chat, 'prompt_tokens'],
    ['/v1/chat/completions/input_tokens', chat, '/v1/chat/completions', chat, 'prompt_tokens'],
    ['/v1/messages/count_tokens', message, '/v1/messages', { ...message, max_tokens: 99 }, 'input_tokens'],
    ['/v1/responses/input_tokens', response, '/v1/responses', response, 'input_tokens'],
  ] as const)('%s', async (path, body, generation, whole, field) => {
    const { post } = open()
    const counted = (await post(path, body)).json()
    expect(counted.input_tokens).toBe((await post(generation, whole)).json().usage[field])
    const plain = { ...body, tools: undefined, enable_tools: undefined }
    expect(counted.input_tokens).toBeGreaterThan((await post(path, plain)).json().input_tokens + 20)
  })

  test('and is refused for tools that are not there', async () => {
    const { post } = open()
    const reply = await post('/v1/chat/count_tokens', { ...chat, enabled_tools: ['rm'] })
    expect([reply.status, reply.text]).toEqual([400, expect.stringContaining("'rm' is not a tool of this server")])
  })
})

describe('while a tool runs', () => {
  /** A tool that runs until it is let go, or cancelled. */
  function held() {
    let letGo: () => void = () => undefined
    const free = new Promise<void>((resolve) => {
      letGo = resolve
    })
    const facts = { aborted: false }
    const run = ({ signal }: ToolRun) =>
      new Promise<ToolOutcome>((resolve) => {
        void free.then(() => resolve(sunny))
        signal.addEventListener('abort', () => {
          facts.aborted = true
          resolve({ text: 'ended', isError: true })
        })
      })
    return { run, letGo: () => letGo(), facts }
  }

  test('the stream has heartbeats', async () => {
    const { run, letGo } = held()
    const { listen } = open({ run, heartbeatMs: () => 10 })
    const stream = openChat(`http://127.0.0.1:${await listen()}`, asked({ stream: true }))
    await stream.untilText('look.')
    const heartbeats = () => stream.text().split(': \n\n').length
    const before = heartbeats()
    await expect.poll(heartbeats).toBeGreaterThan(before + 1)
    letGo()
    await stream.ended
    expect(contentOf(stream.text())).toBe('Let me look.\n\nIt is sunny.')
  })

  test('a cancel by its id ends the tool and the reply', async () => {
    const { run, facts } = held()
    const { listen, post } = open({ run })
    const stream = openChat(`http://127.0.0.1:${await listen()}`, asked({ stream: true, cancel_id: 'c' }))
    await stream.untilText('look.')
    await soon(async () => {
      expect((await post('/api/inference/cancel', { cancel_id: 'c' })).json().cancelled).toBe(1)
      await stream.ended
    })
    expect(stream.text()).toMatch(/"finish_reason":"length".*data: \[DONE\]\n\n$/s)
    await expect.poll(() => facts.aborted).toBe(true)
  })

  test('a client that leaves ends the tool', async () => {
    const { run, facts } = held()
    const { listen, deps } = open({ run })
    const stream = openChat(`http://127.0.0.1:${await listen()}`, asked({ stream: true }))
    await stream.untilText('look.')
    await soon(() => {
      stream.hangUp()
      return until(() => deps.cancellations.size === 0)
    })
    expect(facts.aborted).toBe(true)
  })
})

describe('POST /api/inference/tool-confirm', () => {
  const frameOf = (text: string, type: string) => framesOf(text).find((frame) => frame.type === type)

  test.each([
    ['/api/inference/tool-confirm', true, 'Let me look.\n\nIt is sunny.'],
    ['/v1/tool-confirm', false, 'Let me look.\n\nThen not.'],
  ])('%s with approved %j decides a call that waits', async (path, approved, said) => {
    const { listen, post } = open()
    const url = `http://127.0.0.1:${await listen()}`
    const stream = await fetch(`${url}/api/inference/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(asked({ stream: true, permission_mode: 'ask' })),
    })
    let text = ''
    let isDecided = false
    for await (const piece of stream.body ?? []) {
      text += Buffer.from(piece).toString()
      const frame = isDecided ? undefined : frameOf(text, 'tool_confirm')
      if (frame === undefined) continue
      isDecided = true
      expect(frame).toMatchObject({ tool_name: 'web_search', arguments: { query: 'secret weather' } })
      const reply = await post(path, { tool_call_id: frame.tool_call_id, approved })
      expect(reply.json()).toEqual({ tool_call_id: frame.tool_call_id, approved })
    }
    expect(contentOf(text)).toBe(said)
  })

  test.each([
    [{ tool_call_id: 'x', approved: true }, 404, 'waits for an approval'],
    [{ tool_call_id: 'x' }, 400, 'approved'],
    [{ approved: true }, 400, 'tool_call_id'],
  ])('%j is refused with %i', async (body, status, message) => {
    const { post } = open()
    const reply = await post('/api/inference/tool-confirm', body)
    expect(reply.status).toBe(status)
    expect(reply.text).toContain(message)
  })

  test('where a client sees no frames, calls that need approval are not made', async () => {
    const { post } = open({ needsApproval: true })
    const reply = await post('/v1/chat/completions', asked({ stream: true }), ofSdk)
    expect(contentOf(reply.text)).toBe('Let me look.\n\nThen not.')
  })
})

test('the log and the metrics have each call, without what was in it', async () => {
  const lines: string[] = []
  const { post } = open({
    onToolCall: (record) =>
      createToolLog({ info: (entry: object, text: string) => lines.push(JSON.stringify([entry, text])) } as never)(record),
  })
  await post('/v1/chat/completions', asked())
  expect(lines).toHaveLength(1)
  expect(JSON.parse(lines[0] ?? '')).toEqual([
    {
      generationId: expect.stringMatching(/^chatcmpl-/),
      key: 'anyone',
      tool: 'web_search',
      outcome: 'ok',
      ms: expect.any(Number),
    },
    'tool called',
  ])
  expect(lines[0]).not.toMatch(/secret|sunny/)
})
