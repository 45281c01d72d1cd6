import { describe, expect, test } from 'vitest'
import { failureOfCall } from '../../../test/support/failure-of.ts'
import { call, reasoning, sentImage, text } from '../../../test/support/parts.ts'
import { sealed, plainSealer as sealer } from '../../../test/support/plain-sealer.ts'
import type { AppError } from '../../contract/errors.ts'
import type { Message, Prompt } from '../../contract/request.ts'
import { decodeCount, decodeMessage } from './decode.ts'

const hi = { role: 'user', content: 'hi' }
const png = { type: 'base64', media_type: 'image/png', data: 'QUJD' }

function decode(fields: object) {
  return decodeMessage({ model: 'm', max_tokens: 9, messages: [hi], ...fields }, { id: 'msg_1', sealer })
}

function promptOf(fields: object): Extract<Prompt, { type: 'chat' }> {
  const { prompt } = decode(fields).request
  if (prompt.type !== 'chat') throw new Error('expected a chat')
  return prompt
}

function failureOf(fields: object): AppError {
  return failureOfCall(() => decode(fields))
}

describe('messages', () => {
  test.each<[string, object, readonly Message[]]>([
    ['a text', { messages: [hi] }, [{ role: 'user', content: [text('hi')] }]],
    [
      'a system prompt of blocks, before the messages',
      { system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }] },
      [
        { role: 'system', content: [text('Be brief.')] },
        { role: 'user', content: [text('hi')] },
      ],
    ],
    [
      "no billing block of Claude Code's, which would spoil the prompt cache",
      {
        system: [
          { type: 'text', text: 'x-anthropic-billing-header: cc_version=1.abc;' },
          { type: 'text', text: 'Be brief.' },
        ],
      },
      [
        { role: 'system', content: [text('Be brief.')] },
        { role: 'user', content: [text('hi')] },
      ],
    ],
    ['no empty system prompt', { system: '' }, [{ role: 'user', content: [text('hi')] }]],
    [
      'a late system message, in its place, the same as a text and as blocks',
      { messages: [hi, { role: 'system', content: 'Now.' }, { role: 'system', content: [{ type: 'text', text: 'Now.' }] }] },
      [
        { role: 'user', content: [text('hi')] },
        { role: 'system', content: [text('Now.')] },
        { role: 'system', content: [text('Now.')] },
      ],
    ],
    [
      'an image between texts',
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'a' },
              { type: 'image', source: png },
              { type: 'text', text: 'b' },
            ],
          },
        ],
      },
      [
        {
          role: 'user',
          content: [text('a'), sentImage('QUJD'), text('b')],
        },
      ],
    ],
    [
      'a turn with a thought, a text and two calls, in this order',
      {
        messages: [
          hi,
          {
            role: 'assistant',
            content: [
              { type: 'thinking', thinking: 'Hm.', signature: sealed('Hm.') },
              { type: 'text', text: 'I look.' },
              { type: 'tool_use', id: 't1', name: 'f', input: { a: 1 } },
              { type: 'tool_use', id: 't2', name: 'f', input: {} },
            ],
          },
          hi,
        ],
      },
      [
        { role: 'user', content: [text('hi')] },
        { role: 'assistant', parts: [reasoning('Hm.'), text('I look.'), call('t1', 'f', '{"a":1}'), call('t2', 'f', '{}')] },
        { role: 'user', content: [text('hi')] },
      ],
    ],
    [
      'a thought with what the upstream wants back',
      { messages: [hi, { role: 'assistant', content: [{ type: 'thinking', thinking: 'Hm.', signature: sealed('Hm.', 's1') }] }] },
      [
        { role: 'user', content: [text('hi')] },
        { role: 'assistant', parts: [{ ...reasoning('Hm.'), opaque: 's1' }] },
      ],
    ],
    [
      'a thought whose text was omitted comes from its signature',
      { messages: [hi, { role: 'assistant', content: [{ type: 'thinking', thinking: '', signature: sealed('Hm.') }] }] },
      [
        { role: 'user', content: [text('hi')] },
        { role: 'assistant', parts: [reasoning('Hm.')] },
      ],
    ],
    [
      "results first, in their order, then the rest of the user's turn",
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'And now?' },
              {
                type: 'tool_result',
                tool_use_id: 't2',
                content: [
                  { type: 'text', text: 'two' },
                  { type: 'image', source: png },
                ],
              },
              { type: 'tool_result', tool_use_id: 't1', content: 'no such file', is_error: true },
              { type: 'tool_result', tool_use_id: 't3' },
            ],
          },
        ],
      },
      [
        {
          role: 'tool',
          toolCallId: 't2',
          content: [text('two'), sentImage('QUJD')],
        },
        { role: 'tool', toolCallId: 't1', content: [text('no such file')], isError: true },
        { role: 'tool', toolCallId: 't3', content: [] },
        { role: 'user', content: [text('And now?')] },
      ],
    ],
    [
      'documents of text',
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'document', title: 'T', source: { type: 'text', media_type: 'text/plain', data: 'body' } },
              { type: 'search_result', source: 'http://a', title: 'A', content: [{ type: 'text', text: 'found' }] },
            ],
          },
        ],
      },
      [{ role: 'user', content: [text('T\n\nbody'), text('A\nhttp://a\n\nfound')] }],
    ],
  ])('%s', (_, fields, messages) => {
    expect(promptOf(fields).messages).toEqual(messages)
  })

  test('a last message of the assistant is continued', () => {
    expect(promptOf({ messages: [hi, { role: 'assistant', content: 'The' }] }).start).toBe('last-message')
    expect(promptOf({}).start).toBe('new-turn')
  })

  test.each([
    ['a thought that was changed', { type: 'thinking', thinking: 'Other.', signature: sealed('Hm.') }],
    ["a thought with another server's signature", { type: 'thinking', thinking: 'Hm.', signature: 'EqQB' }],
    ['a thought that nobody can read', { type: 'redacted_thinking', data: 'EqQB' }],
    ['a block of a later version', { type: 'daydream', content: 'x' }],
  ])('%s does not reach the model, and is listed', (_, block) => {
    const decoded = decode({ messages: [hi, { role: 'assistant', content: [block, { type: 'text', text: 'Yes' }] }, hi] })
    expect(decoded.ignored).toEqual(['messages[1].content[0]'])
    expect(decoded.request.prompt).toMatchObject({ messages: [{}, { role: 'assistant', parts: [text('Yes')] }, {}] })
  })
})

describe('options', () => {
  test.each([
    ['absent', {}, { enabled: false, isWish: true }, 'none'],
    ['disabled', { thinking: { type: 'disabled' } }, { enabled: false }, 'none'],
    [
      'enabled',
      { thinking: { type: 'enabled', budget_tokens: 2000 } },
      { enabled: true, budgetTokens: 2000, isWish: true },
      'shown',
    ],
    ['adaptive, omitted', { thinking: { type: 'adaptive', display: 'omitted' } }, {}, 'omitted'],
    [
      'adaptive with an effort',
      { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } },
      { effort: 'high' },
      'shown',
    ],
    ['of a later kind', { thinking: { type: 'between_tools' } }, { enabled: true, isWish: true }, 'shown'],
    [
      'adaptive, and all of it is kept',
      {
        thinking: { type: 'adaptive' },
        context_management: { edits: [{ type: 'clear_tool_uses_20250919' }, { type: 'clear_thinking_20251015', keep: 'all' }] },
      },
      { preserve: true, isWish: true },
      'shown',
    ],
  ])('thinking: %s', (_, fields, reasoningOptions, shown) => {
    const decoded = decode(fields)
    expect(decoded.request.reasoning).toEqual(reasoningOptions)
    expect(decoded.thinking).toBe(shown)
  })

  test('sampling, limits and stop sequences', () => {
    const { request, stream } = decode({
      temperature: 0.5,
      top_p: 0.9,
      top_k: 5,
      min_p: 0.1,
      repetition_penalty: 1.1,
      presence_penalty: 0.2,
      stop_sequences: ['END'],
      stream: true,
    })
    expect(request.sampling).toEqual({
      temperature: 0.5,
      topP: 0.9,
      topK: 5,
      minP: 0.1,
      repetitionPenalty: 1.1,
      presencePenalty: 0.2,
    })
    expect(request).toMatchObject({ maxOutputTokens: 9, stop: ['END'] })
    expect(stream).toBe(true)
  })

  test.each([
    ['output_config', { output_config: { format: { type: 'json_schema', schema: { type: 'object' } } } }],
    ['the old name', { output_format: { type: 'json_schema', schema: { type: 'object' } } }],
  ])('a JSON Schema of %s', (_, fields) => {
    expect(decode(fields).request.output).toEqual({ type: 'json-schema', schema: { type: 'object' }, strict: false })
  })
})

describe('tools', () => {
  const f = { name: 'f', description: 'Does.', input_schema: { type: 'object' } }

  test('functions, those that only a type declares, and those that are ignored', () => {
    const tools = [
      f,
      { type: 'bash_20250124', name: 'bash' },
      { type: 'web_search_20250305', name: 'web_search', max_uses: 3 },
      { ...f, name: 'late', defer_loading: true },
      { type: 'memory_20250818', name: 'memory', defer_loading: true },
    ]
    const decoded = decode({ tools })
    expect(promptOf({ tools }).tools).toMatchObject([
      { name: 'f', description: 'Does.', parameters: { type: 'object' } },
      { name: 'bash', parameters: { properties: { command: { type: 'string' } } } },
    ])
    expect(decoded.ignored).toEqual(['tools[2].web_search_20250305', 'tools[3]', 'tools[4]'])
    expect(decode({ tools: tools.slice(4) }).ignored).toEqual(['tools[0]'])
    // An error about the second tool that is shown names its place in the request.
    expect(decode({ tools: [tools[2], f] }).nameOf(['prompt', 'tools', 0, 'parameters', 'type'])).toBe(
      'tools[1].input_schema.type',
    )
  })

  test.each([
    [{ type: 'auto' }, { type: 'auto' }, true],
    [{ type: 'none' }, { type: 'none' }, true],
    [{ type: 'any', disable_parallel_tool_use: true }, { type: 'required' }, false],
    [{ type: 'tool', name: 'f' }, { type: 'required', names: ['f'] }, true],
  ])('the choice %j', (choice, toolChoice, parallelToolCalls) => {
    expect(decode({ tools: [f], tool_choice: choice }).request).toMatchObject({ toolChoice, parallelToolCalls })
  })
})

test.each<[string, object, string, string]>([
  ['no limit', { max_tokens: undefined }, 'max_tokens', 'max_tokens is missing: expected an integer of at least 1'],
  ['no messages', { messages: [] }, 'messages', 'at least one message'],
  ['an unknown role', { messages: [{ role: 'tool', content: '' }] }, 'messages[0].role', 'expected one of'],
  [
    'an unknown block of the user',
    { messages: [{ role: 'user', content: [{ type: 'video' }] }] },
    'messages[0].content[0].type',
    'expected one of',
  ],
  [
    'a choice without a name',
    { tools: [{ name: 'f', input_schema: {} }], tool_choice: { type: 'tool' } },
    'tool_choice.name',
    'is missing',
  ],
  [
    'a tool of Anthropic’s servers alone',
    { tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
    'tools[0].type',
    'tools[0].type "web_search_20250305" is a tool that is not run here',
  ],
  ['a tool without a schema', { tools: [{ name: 'f' }] }, 'tools[0].input_schema', 'expected a JSON Schema'],
  ['a choice without tools', { tool_choice: { type: 'any' } }, 'tool_choice', 'needs a tool'],
  ['a choice of no declared tool', { tool_choice: { type: 'tool', name: 'g' } }, 'tool_choice.name', 'is not declared'],
  ['an MCP server', { mcp_servers: [{ name: 'x', url: 'http://x' }] }, 'mcp_servers', 'no MCP servers are used for this caller'],
  [
    'both places of a schema',
    { output_config: { format: schema() }, output_format: schema() },
    'output_format',
    'send one of them',
  ],
])('%s is refused', (_, fields, param, message) => {
  const error = failureOf(fields)
  expect(error.param).toBe(param)
  expect(error.message).toContain(message)
})

function schema() {
  return { type: 'json_schema', schema: {} }
}

test('fields that are not known are listed, also those inside; those that clients always send are not', () => {
  const { ignored } = decode({
    betas: ['x'],
    metadata: { user_id: 'u', team: 't' },
    messages: [{ role: 'user', content: [{ type: 'text', text: 'a', cache_control: { type: 'ephemeral' }, mood: 1 }] }],
    context_management: { edits: [] },
  })
  expect(ignored).toEqual(['betas', 'messages[].content[].mood', 'metadata.team'])
})

test("paths of the canonical request have the caller's names", () => {
  const { nameOf } = decode({
    system: 'S',
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'tool_result', tool_use_id: 't', content: 'r' },
        ],
      },
    ],
  })
  expect(nameOf(['prompt', 'messages', 0])).toBe('system')
  expect(nameOf(['prompt', 'messages', 1, 'content', 0])).toBe('messages[0].content[1].content')
  expect(nameOf(['prompt', 'messages', 2, 'content', 0])).toBe('messages[0].content[0]')
  expect(nameOf(['maxOutputTokens'])).toBe('max_tokens')
  expect(nameOf(['reasoning', 'budgetTokens'])).toBe('thinking.budget_tokens')
})

test('a count needs no limit', () => {
  const { prompt, ignored } = decodeCount({ model: 'm', messages: [hi], system: 'S' }, { sealer })
  expect(prompt.messages).toHaveLength(2)
  expect(ignored).toEqual([])
})
