import { describe, expect, test } from 'vitest'
import { plainSealer } from '../../../test/support/plain-sealer.ts'
import type { CanonicalPath } from '../../contract/field.ts'
import { decode, failureOf, promptOf, said, stored } from './__fixtures__/decode.ts'
import { decodeResponse } from './decode.ts'
import { readReferences } from './decode-references.ts'

describe('reasoning', () => {
  test.each<[object, object]>([
    [{ effort: 'high' }, { effort: 'high' }],
    [{ effort: 'none' }, { enabled: false, effort: 'none' }],
    [{ context: 'auto', summary: 'auto' }, {}],
    [{ context: 'all_turns' }, { preserve: true }],
    [{ context: 'current_turn' }, { preserve: false }],
  ])('%j', (reasoning, expected) => {
    expect(decode({ reasoning }).request.reasoning).toEqual(expected)
  })

  test('of a context that is not known is refused by name', () => {
    expect(failureOf({ reasoning: { context: 'some' } })).toMatchObject({
      code: 'unsupported-field',
      param: 'reasoning.context',
    })
  })

  test('has a budget, unless it is negative', () => {
    expect(decode({ reasoning_budget: 0 }).request.reasoning).toEqual({ budgetTokens: 0 })
    expect(decode({ reasoning_budget: -1 }).request.reasoning).toEqual({})
    const limited = decode({ thinking_budget_tokens: 2, thinking_budget_message: 'Enough.' })
    expect(limited.request.reasoning).toEqual({ budgetTokens: 2, budgetMessage: 'Enough.' })
  })

  test.each<[object, object]>([
    [{}, { thoughts: 'content', encrypts: false }],
    [{ reasoning: { summary: 'auto' } }, { thoughts: 'summary' }],
    [{ reasoning: { generate_summary: 'concise' } }, { thoughts: 'summary' }],
    [{ include: ['reasoning.encrypted_content'] }, { encrypts: true }],
  ])('%j is shown as %j', (fields, style) => {
    expect(decode(fields).style).toMatchObject(style)
  })
})

describe('the format of the text', () => {
  const schema = { type: 'object' }

  test.each<[object, object]>([
    [{ type: 'text' }, { type: 'text' }],
    [{ type: 'json_object' }, { type: 'json-object' }],
    [
      { type: 'json_schema', name: 'n', description: 'd', schema, strict: true },
      { type: 'json-schema', name: 'n', description: 'd', schema, strict: true },
    ],
    [
      { type: 'json_schema', schema },
      { type: 'json-schema', schema, strict: false },
    ],
  ])('%j', (format, output) => {
    expect(decode({ text: { format } }).request.output).toEqual(output)
  })

  test('may be another server’s constraint, but not two different ones', () => {
    expect(decode({ regex: 'a+' }).request.output).toEqual({ type: 'regex', pattern: 'a+' })
    const format = { type: 'json_object' }
    expect(decode({ text: { format }, response_format: format }).request.output).toEqual({ type: 'json-object' })
    expect(failureOf({ text: { format }, regex: 'a+' }).param).toBe('regex')
  })

  test('leaves verbosity to the template', () => {
    expect(promptOf(decode({ text: { verbosity: 'low' } })).templateVariables).toEqual({ verbosity: 'low' })
  })
})

describe('log-probabilities', () => {
  test.each<[object, object | undefined]>([
    [{}, undefined],
    [{ top_logprobs: 0 }, undefined],
    [{ top_logprobs: 3 }, { top: 3 }],
    [{ include: ['message.output_text.logprobs'] }, { top: 0 }],
    [{ include: ['message.output_text.logprobs'], top_logprobs: 2 }, { top: 2 }],
  ])('%j', (fields, logprobs) => {
    expect(decode(fields).request.logprobs).toEqual(logprobs)
  })
})

test('what `include` names without effect is known, or listed', () => {
  const include = ['web_search_call.results', 'a.later.value', 'message.input_image.image_url']
  expect(decode({ include }).ignored).toEqual(['include[1]'])
})

test('unknown fields are listed, at every depth once', () => {
  const fields = {
    more: 1,
    input: [{ role: 'user', more: 1, content: [{ type: 'input_text', text: 'a', more: 1 }] }],
    tools: [
      { type: 'function', name: 'f', defer_loading: true },
      { type: 'namespace', name: 'n', tools: [{ type: 'custom', name: 'c', more: 1 }] },
    ],
    text: { more: 1, format: { type: 'text', more: 1 } },
    reasoning: { more: 1 },
  }
  expect(decode(fields).ignored).toEqual([
    'more',
    'input[].more',
    'input[].content[].more',
    'tools[].defer_loading',
    'tools[].tools[].more',
    'text.more',
    'text.format.more',
    'reasoning.more',
  ])
})

test('output items are input items without anything to list', () => {
  const input = [
    { type: 'reasoning', id: 'rs_1', status: 'completed', summary: [], content: [{ type: 'reasoning_text', text: 'a' }] },
    {
      type: 'message',
      id: 'msg_1',
      status: 'completed',
      role: 'assistant',
      phase: 'commentary',
      content: [{ type: 'output_text', text: 'a', annotations: [], logprobs: [] }],
    },
    {
      type: 'function_call',
      id: 'fc_1',
      status: 'completed',
      call_id: 'c1',
      name: 'f',
      namespace: 'n',
      arguments: '{}',
      caller: null,
    },
    { type: 'custom_tool_call', id: 'ctc_1', call_id: 'c2', name: 'f', input: 'x' },
  ]
  expect(decode({ input }).ignored).toEqual([])
})

describe('a minimum of tokens', () => {
  test('above the limit is refused by name', () => {
    expect(failureOf({ min_tokens: 5, max_output_tokens: 4 }).param).toBe('min_tokens')
    expect(decode({ min_tokens: 4, max_output_tokens: 4 }).request).toMatchObject({ minOutputTokens: 4, maxOutputTokens: 4 })
  })
})

describe('references', () => {
  test('are read before the history is fetched', () => {
    const input = [
      { type: 'item_reference', id: 'msg_1' },
      { role: 'user', content: 'hi' },
      { type: 'item_reference', id: 'rs_1' },
    ]
    expect(readReferences({ model: 'm', previous_response_id: 'resp_0', input, stream: true })).toEqual({
      model: 'm',
      previousResponseId: 'resp_0',
      itemIds: ['msg_1', 'rs_1'],
      store: true,
      background: false,
      stream: true,
    })
  })

  test.each([['conv_1'], [{ id: 'conv_1' }]])('name the conversation %j', (conversation) => {
    expect(readReferences({ model: 'm', conversation })).toMatchObject({ conversationId: 'conv_1' })
  })

  test.each<[object, string]>([
    [{ previous_response_id: 'resp_0', conversation: 'conv_1' }, 'previous_response_id'],
    [{ background: true, store: false }, 'background'],
    [{ conversation: {} }, 'conversation.id'],
    [{ model: '' }, 'model'],
    [{ input: 5 }, 'input'],
  ])('of %j are refused by name', (fields, param) => {
    expect(() => readReferences({ model: 'm', ...fields })).toThrow(expect.objectContaining({ code: 'invalid-request', param }))
  })
})

describe('names in errors', () => {
  const fields = {
    instructions: 'Be brief.',
    max_tokens: 3,
    text: { format: { type: 'json_schema', name: 'n', schema: {} } },
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'a' },
          { type: 'input_text', text: 'b' },
        ],
      },
      { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
      { role: 'assistant', content: 'x' },
      { type: 'function_call_output', call_id: 'c1', output: 'y' },
    ],
  }

  test.each<[CanonicalPath, string]>([
    [['prompt', 'messages', 0, 'content', 0], 'instructions'],
    [['prompt', 'messages', 1, 'content', 1], 'input[0].content[1]'],
    [['prompt', 'messages', 1], 'input[0]'],
    [['prompt', 'messages', 2, 'parts', 0], 'input[1]'],
    [['prompt', 'messages', 2, 'parts', 1, 'text'], 'input[2].content.text'],
    [['prompt', 'messages', 3, 'content', 0], 'input[3].output'],
    [['prompt', 'messages', 9], 'input'],
    [['maxOutputTokens'], 'max_tokens'],
    [['output', 'schema', 'type'], 'text.format.schema.type'],
    [['sampling', 'topP'], 'top_p'],
    [['reasoning', 'effort'], 'reasoning.effort'],
    [['logprobs', 'top'], 'top_logprobs'],
    [['model'], 'model'],
  ])('%j is %s', (path, name) => {
    expect(decode(fields).nameOf(path)).toBe(name)
  })

  test('of an input that is a text name the input', () => {
    expect(decode({ input: 'hi' }).nameOf(['prompt', 'messages', 0, 'content', 0])).toBe('input')
  })

  test('of a history name where it came from', () => {
    const history = [said('msg_1', 'user', 'hi')]
    const path = ['prompt', 'messages', 0]
    expect(decode({ previous_response_id: 'resp_0' }, { history }).nameOf(path)).toBe('previous_response_id')
    expect(decode({ conversation: 'conv_1' }, { history }).nameOf(path)).toBe('conversation')
  })
})

describe('without its oldest turns', () => {
  const user = (text: string) => ({ role: 'user', content: text })
  const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{}' })
  const output = (id: string) => ({ type: 'function_call_output', call_id: id, output: id })
  const input = [
    user('a'),
    { role: 'developer', content: 'D' },
    call('1'),
    call('2'),
    output('1'),
    output('2'),
    call('3'),
    output('3'),
    user('b'),
    call('4'),
    output('4'),
  ]
  const history = [said('msg_1', 'user', 'old'), said('msg_2', 'assistant', 'older')]

  test.each<[number, readonly string[]]>([
    [1, ['msg_1']],
    [2, ['msg_1', 'msg_2']],
    [3, ['msg_1', 'msg_2', 'input[0]']],
    [4, ['msg_1', 'msg_2', 'input[0]', 'input[2]', 'input[3]', 'input[4]', 'input[5]']],
    [5, ['msg_1', 'msg_2', 'input[0]', 'input[2]', 'input[3]', 'input[4]', 'input[5]', 'input[6]', 'input[7]']],
  ])('%i of them, a call goes together with its results', (count, dropped) => {
    const shorter = decode({ input }, { history }).withoutOldest(count)
    expect(shorter?.dropped).toEqual(dropped)
  })

  test('it keeps instructions, the last message of the user and what follows it', () => {
    const shorter = decode({ input, instructions: 'I' }, { history }).withoutOldest(5)
    if (shorter === undefined) throw new Error('expected a shorter call')
    expect(promptOf(shorter.decoded).messages.map(({ role }) => role)).toEqual([
      'system',
      'developer',
      'user',
      'assistant',
      'tool',
    ])
    expect(shorter.decoded.input()).toHaveLength(input.length)
    expect(shorter.decoded.withoutOldest(1)).toBeUndefined()
    expect(decode({ input }, { history }).withoutOldest(6)).toBeUndefined()
  })

  test('a call without messages of the user keeps its last turn', () => {
    const calls = [call('1'), output('1'), call('2'), output('2')]
    expect(decode({ input: calls }).withoutOldest(1)?.dropped).toEqual(['input[0]', 'input[1]'])
    expect(decode({ input: calls }).withoutOldest(2)).toBeUndefined()
  })

  test('a compaction can take their place', () => {
    const compaction = stored({ id: 'cmp_1', type: 'compaction', encrypted_content: 'sealed:{"kind":"summary","text":"S"}' })
    const compacted = decode({ input }, { history }).compacted(compaction)
    if (compacted === undefined) throw new Error('expected a compacted call')
    const { messages } = promptOf(compacted)
    expect(messages.map(({ role }) => role)).toEqual(['developer', 'user', 'user', 'assistant', 'tool'])
    expect(JSON.stringify(messages[1])).toContain('S')
    expect(decode({ input: 'hi' }).compacted(compaction)).toBeUndefined()
  })
})

test.each([[[]], ['text'], [null]])('a body that is %j is refused', (body) => {
  const context = { id: 'resp_1', createdAtMs: 0, sealer: plainSealer, history: [], items: [] }
  expect(() => decodeResponse(body, context)).toThrow(expect.objectContaining({ code: 'invalid-request' }))
})
