import { describe, expect, test } from 'vitest'
import { assistant, bytes, call, image, reasoning, refusal, text } from '../../../../../test/support/parts.ts'
import {
  type ChatPrompt,
  type FunctionTool,
  type GenerationRequest,
  type Message,
  plainChat,
  plainRequest,
} from '../../../../contract/request.ts'
import type { ProfileName } from '../../servers/profile.ts'
import { profileIn } from '../../servers/protocols.ts'
import type { Upstream } from '../../servers/upstream.ts'
import { countableBody, messagesBody } from './messages-body.ts'

type Options = {
  readonly kind?: ProfileName
  readonly request?: Partial<GenerationRequest>
  readonly prompt?: Partial<ChatPrompt>
  readonly upstream?: Partial<Upstream>
}

const say = (words: string): Message => ({ role: 'user', content: [text(words)] })
const tool = (name: string): FunctionTool => ({ name, description: `does ${name}`, parameters: { properties: { a: {} } } })

function writtenFor({ kind = 'anthropic', request: more, prompt: given, upstream }: Options) {
  const prompt = { type: 'chat', ...plainChat, messages: [say('hi')], ...given } as const
  const request = { ...plainRequest, id: 'x', model: 'm', prompt, ...more }
  return messagesBody(request, prompt, { profile: profileIn(kind, 'messages'), model: 'up', ...upstream })
}

const bodyFor = (options: Options) => writtenFor(options).body
const messagesOf = (messages: readonly Message[], kind: ProfileName = 'anthropic') => {
  const { system, messages: written } = bodyFor({ kind, prompt: { messages } })
  return { ...(system !== undefined && { system }), messages: written }
}

describe('a request of Messages', () => {
  test('the request has the required fields, under the names of the protocol', () => {
    const sampling = { temperature: 0.5, topP: 0.9, topK: 7 }
    expect(writtenFor({ request: { sampling, stop: ['END', '\n'], maxOutputTokens: 9 } })).toEqual({
      path: '/messages',
      body: {
        model: 'up',
        max_tokens: 9,
        messages: [{ role: 'user', content: 'hi' }],
        stream: true,
        temperature: 0.5,
        top_p: 0.9,
        top_k: 7,
        // One of white space only is refused by the protocol, and found here.
        stop_sequences: ['END'],
      },
    })
  })

  test.each<[string, Partial<Upstream>, number]>([
    ['what the server reports', { outputLength: 64_000, contextLength: 200_000 }, 64_000],
    ['a quarter of a known context', { contextLength: 4096 }, 1024],
    ['8192 tokens', {}, 8192],
    ['8192 tokens of a long context', { contextLength: 1_000_000 }, 8192],
  ])('C30: without an output limit asks for %s', (_, upstream, limit) => {
    expect(bodyFor({ upstream })).toMatchObject({ max_tokens: limit })
  })

  test.each<[Partial<GenerationRequest>, readonly (string | number)[]]>([
    [{ logprobs: { top: 1 } }, ['logprobs']],
    [{ ignoreEos: true }, ['ignoreEos']],
    [{ sampling: { seed: 1 } }, ['sampling', 'seed']],
    [{ sampling: { minP: 0.1 } }, ['sampling', 'minP']],
    [{ sampling: { presencePenalty: 1 } }, ['sampling', 'presencePenalty']],
    [{ sampling: { frequencyPenalty: 1 } }, ['sampling', 'frequencyPenalty']],
    [{ sampling: { logitBias: new Map([[1, 2]]) } }, ['sampling', 'logitBias']],
    [{ reasoning: { preserve: true } }, ['reasoning', 'preserve']],
    [{ output: { type: 'json-object' } }, ['output']],
    [{ output: { type: 'regex', pattern: 'a' } }, ['output']],
  ])('the request refuses what the protocol lacks: %j', (request, at) => {
    expect(() => bodyFor({ request })).toThrow(expect.objectContaining({ code: 'unsupported-field', at }))
  })

  test.each<[Partial<ChatPrompt>, readonly (string | number)[]]>([
    [{ start: 'bare' }, ['prompt', 'start']],
    [{ templateVariables: { verbosity: 'low' } }, ['prompt', 'templateVariables', 'verbosity']],
    [{ messages: [{ ...say('a'), name: 'Ada' }] }, ['prompt', 'messages', 0, 'name']],
  ])('the request refuses of a prompt what the protocol lacks: %j', (prompt, at) => {
    expect(() => bodyFor({ prompt })).toThrow(expect.objectContaining({ code: 'unsupported-field', at }))
  })

  test('values that mean off are left out', () => {
    const sampling = { topK: 0, minP: 0, presencePenalty: 0, frequencyPenalty: 0 }
    expect(Object.keys(bodyFor({ request: { sampling } }))).toEqual(['model', 'max_tokens', 'messages', 'stream'])
    // Without chance, a seed changes nothing.
    expect(bodyFor({ request: { sampling: { seed: 1, temperature: 0 } } })).not.toHaveProperty('seed')
  })

  test('the request to Dragoman has its additional sampling fields', () => {
    const sampling = { minP: 0.1, presencePenalty: 1, repetitionPenalty: 1.1 }
    const fields = { min_p: 0.1, presence_penalty: 1, repetition_penalty: 1.1 }
    expect(bodyFor({ kind: 'dragoman', request: { sampling } })).toMatchObject(fields)
  })

  test('JSON without a schema is asked of Dragoman as any object', () => {
    const format = { type: 'json_schema', schema: { type: 'object' } }
    const body = bodyFor({ kind: 'dragoman', request: { output: { type: 'json-object' } } })
    expect(body.output_config).toEqual({ format })
  })

  test('a schema of the output is an output format, beside the effort', () => {
    const output = { type: 'json-schema', schema: { type: 'object' }, strict: true, name: 'n' } as const
    const written = writtenFor({ request: { output, reasoning: { effort: 'high' } } })
    expect(written.body.output_config).toEqual({ effort: 'high', format: { type: 'json_schema', schema: { type: 'object' } } })
    expect(written.structured).toBe('partial')
  })

  test('the request names the caller by its user id', () => {
    expect(bodyFor({ request: { forwarded: { user: 'u', metadata: { a: 'b' } } } }).metadata).toEqual({ user_id: 'u' })
  })

  test('the request is counted by what its prompt depends on', () => {
    const request = { sampling: { temperature: 1 }, toolChoice: { type: 'auto' } } as const
    const written = writtenFor({ request, prompt: { tools: [tool('f')] } })
    expect(Object.keys(countableBody(written))).toEqual(['model', 'messages', 'tools', 'tool_choice'])
  })
})

describe('thinking', () => {
  test('thinking has a budget, but no message at its end', () => {
    const reasoning = { budgetTokens: 2000, budgetMessage: 'Enough.' }
    expect(() => bodyFor({ kind: 'anthropic', request: { reasoning } })).toThrow(
      expect.objectContaining({ code: 'unsupported-field', at: ['reasoning', 'budgetMessage'] }),
    )
  })

  test.each<[ProfileName, GenerationRequest['reasoning'], unknown]>([
    ['anthropic', {}, undefined],
    ['anthropic', { enabled: true }, { type: 'adaptive' }],
    ['anthropic', { enabled: true, budgetTokens: 2000 }, { type: 'enabled', budget_tokens: 2000 }],
    ['anthropic', { enabled: false }, { type: 'disabled' }],
    ['anthropic', { budgetTokens: 0 }, { type: 'disabled' }],
    ['anthropic', { enabled: false, effort: 'none' }, { type: 'disabled' }],
    ['dragoman', {}, { type: 'adaptive' }],
    ['dragoman', { enabled: true }, { type: 'enabled' }],
  ])('thinking of %s, for %j', (kind, asked, thinking) => {
    const body = bodyFor({ kind, request: { reasoning: asked } })
    expect(body.thinking).toEqual(thinking)
    expect(body.output_config).toBeUndefined()
  })
})

describe('tools', () => {
  const both = { tools: [tool('f'), tool('g')] }

  test.each<[Partial<GenerationRequest>, unknown, readonly string[]]>([
    [{}, { type: 'auto' }, ['f', 'g']],
    [{ parallelToolCalls: false }, { type: 'auto', disable_parallel_tool_use: true }, ['f', 'g']],
    [{ toolChoice: { type: 'required' } }, { type: 'any' }, ['f', 'g']],
    [{ toolChoice: { type: 'required', names: ['g'] } }, { type: 'tool', name: 'g' }, ['g']],
    [{ toolChoice: { type: 'auto', names: ['f'] } }, { type: 'auto' }, ['f']],
    // A conversation with calls needs their tools.
    [{ toolChoice: { type: 'none' } }, { type: 'none' }, ['f', 'g']],
  ])('a request with %j gets the choice and the tools of the protocol', (request, choice, names) => {
    const { tool_choice, tools } = bodyFor({ request, prompt: both })
    expect(tool_choice).toEqual(choice)
    expect(tools).toEqual(
      names.map((name) => ({ name, description: `does ${name}`, input_schema: { type: 'object', properties: { a: {} } } })),
    )
  })

  test('a tool without parameters takes an object without members', () => {
    expect(bodyFor({ prompt: { tools: [{ name: 'f', strict: true }] } }).tools).toEqual([
      { name: 'f', input_schema: { type: 'object', properties: {}, additionalProperties: false }, strict: true },
    ])
  })
})

describe('messages', () => {
  const result = (id: string, words: string): Message => ({ role: 'tool', toolCallId: id, content: [text(words)] })

  test('system and developer messages at the start are the system prompt', () => {
    const start: readonly Message[] = [
      { role: 'system', content: [text('Be brief.')] },
      { role: 'developer', content: [text('Be kind.')] },
    ]
    expect(messagesOf([...start.slice(0, 1), say('hi')]).system).toBe('Be brief.')
    expect(messagesOf([...start, say('hi')])).toEqual({
      system: [
        { type: 'text', text: 'Be brief.' },
        { type: 'text', text: 'Be kind.' },
      ],
      messages: [{ role: 'user', content: 'hi' }],
    })
  })

  test('later ones keep their place where the server takes them, and else are what the user says', () => {
    const late: Message = { role: 'developer', content: [text('b')] }
    const rolesIn = (messages: readonly Message[], profile?: 'openai' | 'dragoman') =>
      (messagesOf(messages, profile).messages as readonly { role: string }[]).map(({ role }) => role).join()
    const answered = [say('a'), late, assistant(text('c')), say('d')]
    expect(messagesOf(answered).messages).toContainEqual({ role: 'system', content: 'b' })
    expect(rolesIn(answered)).toBe('user,system,assistant,user')
    expect(rolesIn([say('a'), late])).toBe('user,system')
    expect(rolesIn(answered, 'openai')).toBe('user,assistant,user')
    expect(rolesIn([say('a'), assistant(text('c')), late, say('d')])).toBe('user,assistant,user')
    expect(rolesIn([say('a'), assistant(text('c')), late])).toBe('user,assistant,user')
    expect(rolesIn([say('a'), late, say('d')], 'dragoman')).toBe('user,system,user')
    expect(messagesOf([say('a'), late, say('d')]).messages).toEqual([
      { role: 'user', content: ['a', 'b', 'd'].map((words) => ({ type: 'text', text: words })) },
    ])
  })

  test('an answer in front gets a question before it', () => {
    const answer = assistant(text('a'))
    expect(messagesOf([answer]).messages).toEqual([
      { role: 'user', content: '…' },
      { role: 'assistant', content: 'a' },
    ])
    expect(messagesOf([answer], 'dragoman').messages).toEqual([{ role: 'assistant', content: 'a' }])
  })

  test('turns of one role become one, with the results of tools first', () => {
    const calls = assistant(text('Let me see.'), call('c1', 'f', '{"a":1}'), call('c2', 'g', ''))
    const failed: Message = { role: 'tool', toolCallId: 'c2', content: [text('no'), image('aa')], isError: true }
    expect(messagesOf([say('a'), calls, say('wait'), result('c1', 'yes'), failed]).messages).toEqual([
      { role: 'user', content: 'a' },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'Let me see.' },
          { type: 'tool_use', id: 'c1', name: 'f', input: { a: 1 } },
          { type: 'tool_use', id: 'c2', name: 'g', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'c1', content: 'yes' },
          {
            type: 'tool_result',
            tool_use_id: 'c2',
            content: [
              { type: 'text', text: 'no' },
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aa' } },
            ],
            is_error: true,
          },
          { type: 'text', text: 'wait' },
        ],
      },
    ])
  })

  test("reasoning returns with the server's own signature only", () => {
    const turn = assistant(
      { ...reasoning('hm'), opaque: 'signature:s1' },
      { ...reasoning(''), opaque: 'redacted:d' },
      reasoning('unsigned'),
      { ...reasoning('of another'), opaque: 'item:{}' },
      text('Yes.'),
      refusal('No.'),
    )
    expect(messagesOf([say('a'), turn]).messages).toMatchObject([
      {},
      {
        content: [
          { type: 'thinking', thinking: 'hm', signature: 's1' },
          { type: 'redacted_thinking', data: 'd' },
          { type: 'text', text: 'Yes.' },
          { type: 'text', text: 'No.' },
        ],
      },
    ])
  })

  test('the result of a tool inside a turn splits it', () => {
    const inner = { type: 'tool-result', toolCallId: 'c', content: [text('r')] } as const
    expect(messagesOf([say('a'), assistant(call('c', 'f', '{}'), inner, text('so'))]).messages).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: [{ type: 'tool_use' }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'r' }] },
      { role: 'assistant', content: 'so' },
    ])
  })

  test('ids and inputs of other servers are made to fit', () => {
    const turn = assistant(call('functions.f:0', 'f', 'not JSON'))
    expect(messagesOf([say('a'), turn, result('functions.f:0', 'ok')]).messages).toMatchObject([
      {},
      { content: [{ id: 'functions_f_0', input: { input: 'not JSON' } }] },
      { content: [{ tool_use_id: 'functions_f_0' }] },
    ])
  })

  test('what says nothing is left out', () => {
    expect(messagesOf([say('a'), assistant(text('')), say('')]).messages).toEqual([{ role: 'user', content: 'a' }])
  })

  test('a picture in a turn of the assistant is refused by its place', () => {
    const turn: Message = { role: 'assistant', parts: [text('Here:'), image('AAAA')] }
    expect(() => messagesOf([say('a'), turn])).toThrow(
      expect.objectContaining({ code: 'unsupported-field', at: ['prompt', 'messages', 1, 'parts', 1] }),
    )
  })

  test('documents go along with their name', () => {
    const pdf = {
      type: 'media',
      kind: 'file',
      filename: 'a.pdf',
      source: bytes('JV', 'application/pdf'),
    } as const
    expect(messagesOf([{ role: 'user', content: [pdf] }]).messages).toEqual([
      {
        role: 'user',
        content: [{ type: 'document', title: 'a.pdf', source: { type: 'base64', media_type: 'application/pdf', data: 'JV' } }],
      },
    ])
  })

  test('the beginning of an answer is a last message of the assistant', () => {
    const { messages } = bodyFor({ prompt: { responsePrefix: 'Well,' } })
    expect(messages).toEqual([
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: 'Well,' },
    ])
  })
})
