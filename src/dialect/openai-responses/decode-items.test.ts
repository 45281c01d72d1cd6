import { describe, expect, test } from 'vitest'
import { assistant, byUrl, call, reasoning, refusal, text } from '../../../test/support/parts.ts'
import type { Message } from '../../contract/request.ts'
import { decode, failureOf, messagesOf, said, stored } from './__fixtures__/decode.ts'
import { decodeNewItems } from './items.ts'

const hi = { role: 'user', content: 'hi' }
const functionCall = { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' }
const functionOutput = { type: 'function_call_output', call_id: 'c1', output: 'x' }
const user = (words: string): Message => ({ role: 'user', content: [text(words)] })
const result = (id: string, ...content: readonly ReturnType<typeof text>[]): Message => ({
  role: 'tool',
  toolCallId: id,
  content,
})
const png = 'data:image/png;base64,QUJD'

describe('the input', () => {
  test.each<[string, object, readonly Message[]]>([
    ['a text', { input: 'hi' }, [user('hi')]],
    ['a message with a text', { input: [hi] }, [user('hi')]],
    [
      'a message of parts',
      {
        input: [
          {
            type: 'message',
            role: 'user',
            content: [
              { type: 'input_text', text: 'hi' },
              { type: 'input_text', text: 'ho' },
            ],
          },
        ],
      },
      [{ role: 'user', content: [text('hi'), text('ho')] }],
    ],
    [
      'instructions before all messages, and system and developer messages in their places',
      { instructions: 'Be brief.', input: [{ role: 'developer', content: 'D' }, hi, { role: 'system', content: 'S' }] },
      [
        { role: 'system', content: [text('Be brief.')] },
        { role: 'developer', content: [text('D')] },
        user('hi'),
        { role: 'system', content: [text('S')] },
      ],
    ],
    [
      'an image between texts',
      {
        input: [
          {
            role: 'user',
            content: [
              { type: 'input_text', text: 'a' },
              { type: 'input_image', image_url: png, detail: 'low' },
              { type: 'input_image', image_url: png, detail: 'original' },
              { type: 'input_image', image_url: png, detail: 'auto' },
            ],
          },
        ],
      },
      [
        {
          role: 'user',
          content: [
            text('a'),
            { ...byUrl('image', png), detail: 'low' },
            { ...byUrl('image', png), detail: 'high' },
            { ...byUrl('image', png), detail: 'auto' },
          ],
        },
      ],
    ],
    [
      'an assistant’s text with sources, and its refusal',
      {
        input: [
          hi,
          {
            role: 'assistant',
            content: [
              {
                type: 'output_text',
                text: 'a',
                annotations: [
                  { type: 'url_citation', url: 'http://a', title: 'A', start_index: 0, end_index: 1 },
                  { type: 'file_citation', file_id: 'f', filename: 'n', index: 3 },
                  { type: 'later' },
                ],
              },
              { type: 'refusal', refusal: 'No.' },
            ],
          },
        ],
      },
      [
        user('hi'),
        assistant(
          {
            ...text('a'),
            annotations: [
              { type: 'url-citation', url: 'http://a', title: 'A', startIndex: 0, endIndex: 1 },
              { type: 'file-citation', fileId: 'f', filename: 'n', index: 3 },
            ],
          },
          refusal('No.'),
        ),
      ],
    ],
    [
      'what the assistant did in one turn, in its order, and results as texts and parts',
      {
        input: [
          hi,
          { type: 'reasoning', id: 'rs_1', summary: [], content: [{ type: 'reasoning_text', text: 'Hm.' }] },
          functionCall,
          { role: 'assistant', content: 'I look.' },
          { ...functionCall, call_id: 'c2' },
          functionOutput,
          {
            ...functionOutput,
            call_id: 'c2',
            output: [
              { type: 'input_text', text: 'y' },
              { type: 'input_text', text: 'z' },
            ],
          },
          { role: 'assistant', content: 'Done.' },
        ],
      },
      [
        user('hi'),
        assistant(reasoning('Hm.'), call('c1', 'f', '{}'), text('I look.'), call('c2', 'f', '{}')),
        result('c1', text('x')),
        result('c2', text('y'), text('z')),
        assistant(text('Done.')),
      ],
    ],
    [
      'calls of custom tools and their results',
      {
        input: [
          { type: 'custom_tool_call', call_id: 'c1', name: 'patch', input: '*** Begin' },
          { type: 'custom_tool_call_output', call_id: 'c1', output: 'ok' },
        ],
      },
      [assistant({ ...call('c1', 'patch', '*** Begin'), kind: 'custom' }), result('c1', text('ok'))],
    ],
  ])('%s', (_, fields, expected) => {
    expect(messagesOf(fields)).toEqual(expected)
  })

  test.each([
    { input: '', max_output_tokens: 1 },
    { input: [], max_output_tokens: 1 },
    { input: null, max_output_tokens: 1 },
    { input: '', max_tokens: 1 },
  ])('%j, which probes a model, is an empty message', (fields) => {
    expect(messagesOf(fields)).toEqual([user('')])
  })

  test.each([{ input: '' }, { input: [] }, { input: null }, { input: [], instructions: '', max_output_tokens: 100 }])(
    '%j says nothing that could be answered: it is refused',
    (fields) => {
      expect(failureOf(fields)).toMatchObject({ code: 'invalid-request', param: 'input' })
    },
  )

  test('may be empty after a history, or beside instructions', () => {
    expect(messagesOf({ input: [] }, { history: [said('msg_1', 'user', 'hi')] })).toEqual([user('hi')])
    expect(messagesOf({ input: [], instructions: 'Be brief.' })).toHaveLength(2)
  })

  test.each([
    { type: 'web_search_call', id: 'ws_1', status: 'completed' },
    { type: 'file_search_call', id: 'fs_1', queries: ['q'] },
    { type: 'image_generation_call', id: 'ig_1', result: 'aGk=' },
    { type: 'a_later_type' },
    { type: 'a_later_type', content: [{ type: 'input_text', text: 'hi' }] },
    { type: 'a_later_type', role: 'critic', content: 'hi' },
    { type: 'a_later_output', call_id: 'c1', output: 'x' },
    { type: 'agent_message', content: [{ type: 'encrypted_content', encrypted_content: 'gAAAAABo_x-1==' }] },
  ])('%j does not reach the model, which is listed, and is kept', (item) => {
    const decoded = decode({ input: [hi, item] })
    expect(decoded.ignored).toEqual(['input[1]'])
    expect(decoded.input()[1]?.json).toMatchObject(item)
    expect(decodeNewItems({ items: [item] })[0]?.json).toMatchObject(item)
  })

  test('of which nothing is left is refused, also after a history', () => {
    const input = [{ type: 'web_search_call', id: 'ws_1' }]
    const history = [stored({ id: 'msg_1', type: 'message', ...hi })]
    for (const known of [{}, { history }]) expect(failureOf({ input }, known)).toMatchObject({ param: 'input' })
  })

  test.each<[string, object, string]>([
    ['a file that refers to nothing', { content: [{ type: 'input_file' }] }, 'input[0].content[0].file_data'],
    ['an image that is missing', { content: [{ type: 'input_image' }] }, 'input[0].content[0].image_url'],
    ['a part of another type', { content: [{ type: 'input_video' }] }, 'input[0].content[0].type'],
  ])('%s in a message is refused by name', (_, message, param) => {
    expect(failureOf({ input: [{ role: 'user', ...message }] }).param).toBe(param)
  })

  test('a result without a call is refused by name', () => {
    const { message, param } = failureOf({ input: [hi, functionOutput] })
    expect(param).toBe('input[1].call_id')
    expect(message).toContain('"c1" has no call')
  })

  test.each<[object, string]>([
    [{ role: 'tool', content: 'x' }, 'input[0].role'],
    [{ type: 'function_call', name: 'f', arguments: '{}' }, 'input[0].call_id'],
    [{ type: 'function_call', call_id: 'c', name: 'f', arguments: [1] }, 'input[0].arguments'],
    [{ type: 'item_reference' }, 'input[0].id'],
  ])('%j is refused by what is wrong with it', (item, param) => {
    expect(failureOf({ input: [item] }).param).toBe(param)
  })
})

describe('a thought', () => {
  const thought = (fields: object) => messagesOf({ input: [{ type: 'reasoning', id: 'rs_1', summary: [], ...fields }, hi] })
  const sealed = 'sealed:{"kind":"thought","text":"Hm.","opaque":"sig"}'

  test.each<[string, object, object]>([
    ['that this server sealed comes back as it was', { encrypted_content: sealed }, { ...reasoning('Hm.'), opaque: 'sig' }],
    ['that this server sealed is more than its text', { encrypted_content: sealed, content: [{ text: 'x' }] }, { text: 'Hm.' }],
    ['is its content', { content: [{ type: 'reasoning_text', text: 'a' }], summary: [{ text: 'b' }] }, reasoning('a')],
    ['without content is its summary', { summary: [{ type: 'summary_text', text: 'a' }, { text: 'b' }] }, reasoning('a\n\nb')],
  ])('%s', (_, fields, part) => {
    expect(thought(fields)).toMatchObject([{ role: 'assistant', parts: [part] }, user('hi')])
  })

  test('without any text is nothing', () => {
    expect(thought({ encrypted_content: null })).toEqual([user('hi')])
  })

  test.each(['gAAAA', 'sealed:plain', 'sealed:{"kind":"summary","text":"x"}', 'sealed:[]'])(
    'that another server encrypted (%s) is left out, which is listed',
    (encrypted_content) => {
      const item = { type: 'reasoning', id: 'rs_1', summary: [{ text: 'short' }], encrypted_content }
      expect(decode({ input: [item, hi] }).ignored).toEqual(['input[0]'])
      expect(thought({ encrypted_content })).toEqual([user('hi')])
    },
  )
})

describe('a history', () => {
  const history = [said('msg_1', 'user', 'hi'), said('msg_2', 'assistant', 'ho'), stored({ id: 'fc_1', ...functionCall })]

  test('comes before the input, whose results may answer its calls', () => {
    expect(messagesOf({ previous_response_id: 'resp_0', input: [functionOutput] }, { history })).toEqual([
      user('hi'),
      assistant(text('ho'), call('c1', 'f', '{}')),
      result('c1', text('x')),
    ])
  })

  test('follows the instructions of this call, and is not part of its input', () => {
    const decoded = decode({ instructions: 'Be brief.', input: 'go on' }, { history })
    expect(decoded.input()).toHaveLength(1)
    expect(messagesOf({ instructions: 'Be brief.', input: 'go on' }, { history })[0]?.role).toBe('system')
  })

  test('has items that do not reach the model without listing them again', () => {
    const search = stored({ id: 'ws_1', type: 'web_search_call' })
    expect(decode({ input: 'go on' }, { history: [search] }).ignored).toEqual([])
  })
})

describe('a reference', () => {
  const input = [{ type: 'item_reference', id: 'msg_2' }, hi]

  test('is replaced by its item', () => {
    const items = [said('msg_2', 'assistant', 'ho')]
    expect(messagesOf({ input }, { items })).toEqual([assistant(text('ho')), user('hi')])
    expect(decode({ input }, { items }).input()[0]).toEqual(items[0])
  })

  test('to an item that is not there is refused by name', () => {
    expect(failureOf({ input })).toMatchObject({ code: 'invalid-request', param: 'input[0].id' })
  })
})

describe('the items that a response lists', () => {
  test('have ids, parts and a status, and everything that they came with', () => {
    const input = [
      { role: 'assistant', content: 'ho', phase: 'final_answer' },
      { ...functionCall, id: 'fc_1' },
      functionOutput,
      { type: 'reasoning', content: [{ type: 'reasoning_text', text: 'a' }] },
      { role: 'user', content: [{ type: 'input_image', image_url: png }] },
    ]
    const items = decode({ input }).input()
    expect(items.map(({ json }) => json)).toMatchObject([
      {
        type: 'message',
        role: 'assistant',
        phase: 'final_answer',
        content: [{ type: 'output_text', text: 'ho', annotations: [] }],
      },
      { ...functionCall, id: 'fc_1', status: 'completed' },
      { ...functionOutput, id: expect.stringMatching(/^fco_[0-9a-f]{32}$/), status: 'completed' },
      { type: 'reasoning', summary: [], id: expect.stringMatching(/^rs_/) },
      { role: 'user', content: [{ detail: 'auto' }] },
    ])
    expect(items.map(({ id }) => id)).toEqual(items.map(({ json }) => json.id))
  })
})
