import OpenAI, { BadRequestError } from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../../support/http/app.ts'

const protocols = ['chat', 'responses', 'messages'] as const

let upstream: RunningApp
let app: RunningApp
let client: OpenAI
beforeAll(async () => {
  const scripted = { id: 'scripted', engine: 'fake', script: 'from-request', toolFormat: 'hermes' } as const
  upstream = await startApp({ models: [scripted] })
  const endpoints = [{ url: `${upstream.url}/v1` }]
  const remote = { engine: 'remote' as const, endpoints, upstreamModel: 'scripted' }
  app = await startApp({ models: [scripted, ...protocols.map((protocol) => ({ ...remote, id: protocol, protocol }))] })
  client = new OpenAI({ baseURL: `${app.url}/v1`, apiKey: 'unused', maxRetries: 0 })
})
afterAll(async () => {
  await app.close()
  await upstream.close()
})

const tools: OpenAI.ChatCompletionTool[] = [
  { type: 'custom', custom: { name: 'patch', description: 'Changes files.' } },
  { type: 'function', function: { name: 'look', parameters: { type: 'object', properties: { path: { type: 'string' } } } } },
]
const patch = '*** a "patch"\n+é 😀\n'
const written = (name: string, json: string) => `<tool_call>{"name": "${name}", "arguments": ${json}}</tool_call>`
/** The model writes escapes of its own, one character at a time. */
const input = JSON.stringify(patch).replace('😀', '\\ud83d\\ude00')
const reply = [...`Now. ${written('patch', `{"input": ${input}}`)}\n${written('look', '{"path": "a"}')}`]
const request = { model: 'scripted', messages: [{ role: 'user' as const, content: JSON.stringify({ chunks: reply }) }], tools }

describe('custom tools through the openai SDK', () => {
  test.each(['scripted', ...protocols])(
    'a reply of %s has the text of a custom call beside the call of a function',
    async (model) => {
      const { choices } = await client.chat.completions.create({ ...request, model })
      const id = expect.any(String)
      expect(choices[0]).toMatchObject({
        finish_reason: 'tool_calls',
        message: {
          content: 'Now. ',
          tool_calls: [
            { id, type: 'custom', custom: { name: 'patch', input: patch } },
            { id, type: 'function', function: { name: 'look', arguments: '{"path": "a"}' } },
          ],
        },
      })
    },
  )

  test.each(protocols)(
    'a server that is spoken to in %s streams functions, and the text comes as it is written',
    async (model) => {
      const deltas: string[] = []
      for await (const { choices } of await client.chat.completions.create({ ...request, model, stream: true })) {
        for (const call of choices[0]?.delta.tool_calls ?? []) {
          if (call.index === 0) deltas.push((call as { custom?: { input: string } }).custom?.input ?? 'no custom call')
        }
      }
      expect(deltas.join('')).toBe(patch)
      expect(deltas.length).toBeGreaterThan(3)
    },
  )

  test('a stream has the text as it is written', async () => {
    const deltas: unknown[] = []
    for await (const { choices } of await client.chat.completions.create({ ...request, stream: true })) {
      for (const { delta } of choices) deltas.push(...(delta.tool_calls ?? []))
    }
    expect(deltas[0]).toEqual({
      index: 0,
      id: expect.any(String),
      type: 'custom',
      custom: { name: 'patch', input: '' },
    })
    const text = [...patch].map((char) => ({ index: 0, custom: { input: char } }))
    expect(deltas.slice(1, text.length + 1)).toEqual(text)
    expect(deltas[text.length + 1]).toMatchObject({ index: 1, type: 'function' })
  })

  test('a custom call can be required, and goes back to the model with its result', async () => {
    const { choices } = await client.chat.completions.create({
      ...request,
      tool_choice: { type: 'custom', custom: { name: 'patch' } },
    })
    const call = choices[0]?.message.tool_calls?.[0]
    if (call?.type !== 'custom') throw new Error('the call is not a custom one')
    const next = await client.chat.completions.create({
      model: 'scripted',
      messages: [
        ...request.messages,
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: call.id, content: 'done' },
        { role: 'user', content: 'Thanks.' },
      ],
      tools,
    })
    expect(next.choices[0]?.message.content).toBe('Thanks.')
  })

  test('a name of two tools is refused, with both places', async () => {
    const asked = client.chat.completions.create({ ...request, tools: [...tools, { type: 'custom', custom: { name: 'look' } }] })
    await expect(asked).rejects.toBeInstanceOf(BadRequestError)
    await expect(asked).rejects.toMatchObject({
      param: 'tools[2].custom.name',
      message: expect.stringContaining('tools[1].function.name'),
    })
  })
})
