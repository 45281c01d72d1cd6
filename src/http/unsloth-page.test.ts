import { describe, expect, test } from 'vitest'
import { openTestServer } from '../../test/support/http/test-server.ts'
import type { ServerTool } from '../contract/server-tool.ts'
import { ToolApprovals } from '../core/tool-loop/tool-approvals.ts'
import { createFakeEngine } from '../engine/fake/engine.ts'
import { parseScriptFile } from '../engine/fake/script.ts'
import { SourceToolBox } from '../tools/tool-box.ts'

const plot = '<tool_call>{"name":"python","arguments":{"code":"plot()"}}</tool_call>'
const script = `
- result: drawn
  reply: { raw: Here it is. }
- result: not approved
  reply: { raw: Then not. }
- match: again
  reply: { raw: '${plot}${plot}' }
- reply: { raw: 'I draw.${plot}' }
`

/** A server whose model draws a picture, for Unsloth Studio's page. */
async function open() {
  const run = async () => ({ text: 'drawn', isError: false, pictures: ['plot.png'] })
  const tool: ServerTool = { name: 'python', kind: 'python', description: 'Runs.', parameters: {}, run }
  const source = { list: () => ({ tools: [tool], absent: [] }), close: async () => undefined }
  const server = openTestServer({
    engine: createFakeEngine({ script: parseScriptFile(script, 'script'), toolFormat: 'hermes' }),
    tools: new SourceToolBox([source], ['python']),
    approvals: new ToolApprovals(),
  })
  const url = `http://127.0.0.1:${await server.listen()}`
  return (path: string, body: object) =>
    fetch(`${url}${path}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
}

/** A request of the page with its tools on. */
const asked = (more: object = {}) => ({
  model: 'default',
  messages: [{ role: 'user', content: 'Draw.' }],
  stream: true,
  stream_options: { include_usage: true },
  temperature: 0.6,
  top_p: 0.95,
  top_k: 20,
  min_p: 0.01,
  repetition_penalty: 1,
  presence_penalty: 0,
  max_tokens: 512,
  enable_thinking: false,
  enable_tools: true,
  enabled_tools: ['python'],
  mcp_enabled: false,
  permission_mode: 'auto',
  bypass_permissions: false,
  auto_heal_tool_calls: true,
  nudge_tool_calls: false,
  max_tool_calls_per_message: 25,
  tool_call_timeout: 300,
  session_id: 's-1',
  cancel_id: 'c-1',
  ...more,
})

type Frame = {
  readonly type?: string
  readonly approval_id?: string
  readonly choices?: readonly { readonly delta: { readonly content?: string | null } }[]
}
const textOf = ({ choices }: Frame) => choices?.[0]?.delta.content ?? ''

/** Reads a stream as the page does: frames by their type, texts of the others. */
async function* framesOf(reply: Response): AsyncGenerator<Frame> {
  let rest = ''
  for await (const piece of reply.body ?? []) {
    rest += Buffer.from(piece).toString()
    const lines = rest.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line.startsWith('data: {')) yield JSON.parse(line.slice('data: '.length))
  }
}

async function all(frames: AsyncGenerator<Frame>): Promise<readonly Frame[]> {
  const read: Frame[] = []
  for await (const frame of frames) read.push(frame)
  return read
}

const places = ['/v1/chat/completions', '/api/inference/chat/completions']
const call = { tool_name: 'python', tool_call_id: expect.any(String) }
const result = 'drawn\n__IMAGES__:["plot.png"]'

describe.each(places)('Unsloth Studio’s page at %s', (path) => {
  const confirmPath = path.startsWith('/v1/') ? '/v1/tool-confirm' : '/api/inference/tool-confirm'

  test.each([
    {},
    { permission_mode: 'off' },
    { permission_mode: 'full', bypass_permissions: true, confirm_tool_calls: false },
    { enabled_tools: null, thread_id: 't', session_id: undefined },
    { tool_choice: 'auto', continue_final_message: false },
  ])('gets the frames of a call, with its pictures, for %j', async (more) => {
    const post = await open()
    const reply = await post(path, asked(more))
    expect(reply.status).toBe(200)
    const frames = (await all(framesOf(reply))).filter(({ type }) => type !== undefined)
    expect(frames).toEqual([
      { type: 'tool_status', content: 'Running Python' },
      { type: 'tool_start', ...call, arguments: { code: 'plot()' } },
      { type: 'tool_end', ...call, result, images: ['plot.png'] },
      { type: 'tool_status', content: '' },
    ])
  })

  test.each([
    ['allow', result, 'Here it is.'],
    ['deny', 'The call was not approved, and not made.', 'Then not.'],
  ])('decides a call that waits with %s', async (decision, ended, said) => {
    const post = await open()
    const frames: Frame[] = []
    let text = ''
    for await (const frame of framesOf(await post(path, asked({ permission_mode: 'ask', confirm_tool_calls: true })))) {
      if (frame.type === undefined) text += textOf(frame)
      else frames.push(frame)
      if (frame.type !== 'tool_start') continue
      expect(frame).toMatchObject({ ...call, approval_id: expect.any(String), awaiting_confirmation: true })
      const body = { session_id: 's-1', approval_id: frame.approval_id, decision }
      const decided = await post(confirmPath, body)
      expect([decided.status, await decided.json()]).toEqual([200, { resolved: true }])
      expect((await post(confirmPath, body)).status).toBe(404)
    }
    expect(text).toBe(`I draw.\n\n${said}`)
    expect(frames.filter(({ type }) => type === 'tool_start')).toHaveLength(1)
    expect(frames.slice(-2)).toMatchObject([
      { type: 'tool_end', ...call, result: ended },
      { type: 'tool_status', content: '' },
    ])
  })

  test('sees a call once that the model repeats', async () => {
    const post = await open()
    const frames = await all(framesOf(await post(path, asked({ messages: [{ role: 'user', content: 'again' }] }))))
    expect(frames.flatMap(({ type }) => (type === 'tool_start' || type === 'tool_end' ? [type] : []))).toEqual([
      'tool_start',
      'tool_end',
    ])
  })

  test('finds the pictures in a whole reply', async () => {
    const post = await open()
    const images = [{ type: 'image_url', image_url: { url: '/api/inference/sandbox/s-1/plot.png' } }]
    expect(await (await post(path, asked({ stream: false }))).json()).toMatchObject({
      choices: [{ message: { content: 'Here it is.', images } }],
    })
  })

  test.each([
    [{ session_id: 's-1', approval_id: 'x', decision: 'allow' }, 404, 'approval_id'],
    [{ session_id: 's-1', approval_id: 'x', decision: 'maybe' }, 400, 'decision: expected'],
    [{ session_id: 's-1', decision: 'allow' }, 400, 'tool_call_id'],
  ])('is told what is wrong with %j', async (body, status, words) => {
    const reply = await (await open())(confirmPath, body)
    expect([reply.status, await reply.text()]).toEqual([status, expect.stringContaining(words)])
  })
})
