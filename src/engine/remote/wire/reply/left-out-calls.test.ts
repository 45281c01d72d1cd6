import { describe, expect, test } from 'vitest'
import { answer, ask, engineOver, failure, upstream } from '../../../../../test/support/upstream/remote-engine.ts'
import { chatChunk, doneLine, streamOf, usageChunk } from '../../../../../test/support/upstream/upstream.ts'

describe('a required call that the server leaves out', () => {
  const refusing = streamOf(
    chatChunk({ delta: { content: 'I refuse' } }),
    chatChunk({ delta: {}, finish_reason: 'stop' }),
    usageChunk(3, 2),
    doneLine,
  )
  const tools = [{ name: 'g' }]

  test.each(['someone', 'vllm', 'llamacpp', 'sglang'])(
    'the call is asked for once more, then it is an error, by a server of %s',
    async (ownedBy) => {
      const server = await upstream(refusing, { ownedBy })
      const request = ask('hi', { toolChoice: { type: 'required' } }, tools)
      expect(await failure(engineOver([server]), request)).toMatchObject({ code: 'invalid-output', at: ['toolChoice'] })
      expect(server.seen.filter(({ path }) => path === '/v1/chat/completions')).toHaveLength(2)
    },
  )

  test('the call is made by our grammar the second time, where the server takes one but not beside tools', async () => {
    const json = '{"name": "g", "arguments": {"city": "Rome"}}'
    const server = await upstream(
      ({ body }, response) => {
        const made = streamOf(
          chatChunk({ delta: { content: json } }),
          chatChunk({ delta: {}, finish_reason: 'stop' }),
          usageChunk(3, 4),
          doneLine,
        )
        return (body.grammar === undefined ? refusing : made)({} as never, response)
      },
      { ownedBy: 'llamacpp' },
    )
    const parameters = {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    }
    const request = ask('hi', { toolChoice: { type: 'required', names: ['g'] } }, [{ name: 'f' }, { name: 'g', parameters }])
    const { choices } = await answer(engineOver([server]), request)
    expect(choices).toMatchObject([{ parts: [{ type: 'tool-call', name: 'g', input: '{"city": "Rome"}' }] }])
    const second = server.seen.at(-1)?.body ?? {}
    expect(second).toMatchObject({
      chat_template_kwargs: { tools: [{ function: { name: 'g' } }] },
      grammar: expect.stringContaining('city'),
    })
    expect(second).not.toHaveProperty('tools')
    expect(second).not.toHaveProperty('tool_choice')
  })

  test('the call is taken when it comes the second time', async () => {
    let turn = 0
    const called = streamOf(
      chatChunk({ delta: { tool_calls: [{ index: 0, id: 'a', function: { name: 'g', arguments: '{}' } }] } }),
      chatChunk({ delta: {}, finish_reason: 'tool_calls' }),
      usageChunk(3, 4),
      doneLine,
    )
    const server = await upstream((...args) => (turn++ === 0 ? refusing : called)(...args))
    const request = ask('hi', { toolChoice: { type: 'required', names: ['g'] } }, tools)
    const { choices, usage } = await answer(engineOver([server]), request)
    expect(choices).toMatchObject([{ parts: [{ type: 'tool-call', name: 'g' }], finish: { reason: 'tool-calls' } }])
    expect(usage).toMatchObject({ inputTokens: 3, outputTokens: 6 })
  })
})
