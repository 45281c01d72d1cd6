import { describe, expect, test } from 'vitest'
import { decodeNow } from '../../../test/support/decode-now.ts'
import { failureOfCall } from '../../../test/support/failure-of.ts'
import { byUrl, call, text } from '../../../test/support/parts.ts'
import type { Dialect } from '../../contract/dialect.ts'
import type { AppError } from '../../contract/errors.ts'
import type { CanonicalPath } from '../../contract/field.ts'
import type { GenerationRequest, MediaPart, Message } from '../../contract/request.ts'
import { stackDialects } from './dialects.ts'
import { decodeEmbeddings } from './embeddings.ts'

const { chat, completion, batchChat, batchCompletion } = stackDialects
const hi = { role: 'user', content: 'hi' }
const png = 'iVBORw0KGgoAAAANSUhEUg=='
const image = { type: 'image', image: { data: png } }
const pngPart: MediaPart = { type: 'media', kind: 'image', source: { type: 'base64', base64: png } }

function decode(fields: object): GenerationRequest {
  return decodeNow(chat, { model_id: 'm', messages: [hi], ...fields }).requests[0]
}

function messagesOf(...messages: readonly object[]): readonly Message[] {
  const { prompt } = decode({ messages })
  return prompt.type === 'chat' ? prompt.messages : expect.unreachable('expected a chat')
}

function failureOf(fields: object, dialect: Dialect = chat, base: object = { model_id: 'm', messages: [hi] }): AppError {
  return failureOfCall(() => decodeNow(dialect, { ...base, ...fields }))
}

describe('messages', () => {
  test.each<[string, object, Message]>([
    ['a text', hi, { role: 'user', content: [text('hi')] }],
    ['one item', { role: 'user', content: { type: 'text', text: 'hi' } }, { role: 'user', content: [text('hi')] }],
    ['a list of items', { role: 'system', content: [{ type: 'text', text: 'a' }] }, { role: 'system', content: [text('a')] }],
    ['an image', { role: 'user', content: [image] }, { role: 'user', content: [pngPart] }],
    [
      'a data: URL',
      { role: 'user', content: { type: 'image', image: { url: { uri: `data:image/png;base64,${png}` } } } },
      { role: 'user', content: [byUrl('image', `data:image/png;base64,${png}`)] },
    ],
    [
      'a context, after a blank line',
      { ...hi, context: [{ type: 'text', text: 'A page.' }] },
      { role: 'user', content: [text('hi'), text('\n\n'), text('A page.')] },
    ],
    [
      'a result',
      { role: 'tool', call_id: 'c1', tool_name: 'f', content: '21' },
      { role: 'tool', toolCallId: 'c1', name: 'f', content: [text('21')] },
    ],
    [
      'an answer',
      { role: 'assistant', content: 'Hello.', stop_reason: 'end_of_turn', tool_calls: [] },
      { role: 'assistant', parts: [text('Hello.')] },
    ],
    [
      'calls, without the empty text beside them',
      {
        role: 'assistant',
        content: '',
        stop_reason: 'end_of_message',
        tool_calls: [
          { call_id: 'c1', tool_name: 'f', arguments: { a: { b: { c: [1] } } } },
          { call_id: 'c2', tool_name: 'brave_search', arguments: '{"query":"x"}' },
        ],
      },
      { role: 'assistant', parts: [call('c1', 'f', '{"a":{"b":{"c":[1]}}}'), call('c2', 'brave_search', '{"query":"x"}')] },
    ],
    [
      'the JSON of a call before its values',
      {
        role: 'assistant',
        content: 'Now:',
        tool_calls: [{ call_id: 'c1', tool_name: 'f', arguments: { id: 1 }, arguments_json: '{"id": 1.0}' }],
      },
      { role: 'assistant', parts: [text('Now:'), call('c1', 'f', '{"id": 1.0}')] },
    ],
    [
      'a call without arguments',
      { role: 'assistant', content: null, tool_calls: [{ call_id: 'c1', tool_name: 'f', arguments: '' }] },
      { role: 'assistant', parts: [call('c1', 'f', '{}')] },
    ],
  ])('%s', (_, message, expected) => {
    expect(messagesOf(message)).toEqual([expected])
  })

  test.each<[string, object, string, string]>([
    ['an unknown role', { role: 'developer', content: 'a' }, 'invalid-request', 'messages[0].role'],
    ['a result without the id of its call', { role: 'tool', content: 'a' }, 'invalid-request', 'messages[0].call_id'],
    [
      'an image without data',
      { role: 'user', content: [{ type: 'image', image: {} }] },
      'invalid-request',
      'messages[0].content[0].image',
    ],
  ])('%s is refused', (_, message, code, param) => {
    expect(failureOf({ messages: [message] })).toMatchObject({ code, param })
  })
})

describe('sampling', () => {
  test.each<[object | null, object]>([
    [{}, {}],
    [{ sampling_params: null }, {}],
    [{ sampling_params: {} }, { temperature: 0 }],
    [{ sampling_params: { strategy: { type: 'greedy' } } }, { temperature: 0 }],
    [{ sampling_params: { strategy: { type: 'top_p', temperature: 0.7 } } }, { temperature: 0.7, topP: 0.95 }],
    [{ sampling_params: { strategy: { type: 'top_p', temperature: null, top_p: 0.5 } } }, { topP: 0.5 }],
    [{ sampling_params: { strategy: { type: 'top_k', top_k: 40 } } }, { topK: 40 }],
    [{ sampling_params: { repetition_penalty: 1.1 } }, { temperature: 0, repetitionPenalty: 1.1 }],
  ])('%j samples with %j', (fields, sampling) => {
    expect(decode(fields ?? {}).sampling).toEqual(sampling)
  })

  test('a limit of 0 is no limit', () => {
    expect(decode({ sampling_params: { max_tokens: 0 } })).not.toHaveProperty('maxOutputTokens')
    expect(decode({ sampling_params: { max_tokens: 5, stop: ['.'] } })).toMatchObject({ maxOutputTokens: 5, stop: ['.'] })
  })

  test.each<[object, string]>([
    [{ strategy: { type: 'beam' } }, 'sampling_params.strategy.type'],
    [{ strategy: 'greedy' }, 'sampling_params.strategy'],
    [{ strategy: { type: 'top_p', temperature: 0 } }, 'sampling_params.strategy.temperature'],
    [{ strategy: { type: 'top_p', top_p: 1.5 } }, 'sampling_params.strategy.top_p'],
    [{ strategy: { type: 'top_k', top_k: 0 } }, 'sampling_params.strategy.top_k'],
    [{ strategy: { type: 'top_k' } }, 'sampling_params.strategy.top_k'],
    [{ max_tokens: -3 }, 'sampling_params.max_tokens'],
    [{ repetition_penalty: 0 }, 'sampling_params.repetition_penalty'],
    [{ stop: [''] }, 'sampling_params.stop[0]'],
    [{ temperature: 0.5 }, 'sampling_params.temperature'],
  ])('%j is refused', (sampling_params, param) => {
    expect(failureOf({ sampling_params }).param).toBe(param)
  })
})

describe('the form of the answer', () => {
  test.each<[object, object]>([
    [
      { type: 'json_schema', json_schema: { type: 'object' } },
      { type: 'json-schema', schema: { type: 'object' }, strict: false },
    ],
    [
      { type: 'grammar', bnf: 'root ::= "a"' },
      { type: 'gbnf', grammar: 'root ::= "a"' },
    ],
  ])('%j', (response_format, output) => {
    expect(decode({ response_format }).output).toEqual(output)
  })

  test.each([
    [{}, 'unsupported-field'],
    ['a | b', 'invalid-request'],
  ])('the grammar %j is refused by name', (bnf, code) => {
    const failure = failureOf({ response_format: { type: 'grammar', bnf } })
    expect([failure.code, failure.param]).toEqual([code, 'response_format.bnf'])
  })

  test('log-probabilities of 0 tokens are none', () => {
    expect(decode({ logprobs: { top_k: 3 } }).logprobs).toEqual({ top: 3 })
    for (const logprobs of [{}, { top_k: 0 }, null]) expect(decode({ logprobs })).not.toHaveProperty('logprobs')
  })
})

describe('other routes', () => {
  const texts = [
    { type: 'text', text: 'a' },
    { type: 'text', text: 'b' },
  ]

  test.each<[unknown, string]>([
    ['a', 'a'],
    [texts[0], 'a'],
    [texts, 'ab'],
  ])('the text of %j is the prompt', (content, prompt) => {
    expect(decodeNow(completion, { model_id: 'm', content }).requests[0].prompt).toEqual({ type: 'text', text: prompt })
  })

  test('a completion shows no images', () => {
    expect(failureOf({ content: ['a', image].slice(1) }, completion, { model_id: 'm' })).toMatchObject({
      code: 'unsupported-field',
      param: 'content[0]',
    })
  })

  test('a batch is one request for each item, with the same settings', () => {
    const { requests, stream } = decodeNow(batchChat, {
      model_id: 'm',
      messages_batch: [[hi], [hi, { role: 'assistant', content: 'Yes?' }, hi]],
      sampling_params: { max_tokens: 3 },
    })
    expect(requests.map(({ id, maxOutputTokens }) => [id, maxOutputTokens])).toEqual([
      ['id-1', 3],
      ['id-1-1', 3],
    ])
    expect(requests.map(({ prompt }) => prompt.type === 'chat' && prompt.messages.length)).toEqual([1, 3])
    expect(stream).toBe(false)
  })

  test('an old batch calls its model by another name', () => {
    const { requests } = decodeNow(batchCompletion, { model: 'm', content_batch: ['a', 'b'] })
    expect(requests.map(({ model, prompt }) => [model, prompt])).toEqual([
      ['m', { type: 'text', text: 'a' }],
      ['m', { type: 'text', text: 'b' }],
    ])
  })

  test('a fault in a batch has its place', () => {
    const base = { model_id: 'm', messages_batch: [[hi], [hi, { role: 'user', content: [{ type: 'image', image: {} }] }]] }
    expect(failureOf({}, batchChat, base).param).toBe('messages_batch[1][1].content[0].image')
    expect(failureOf({ content_batch: ['a', image] }, batchCompletion, { model_id: 'm' }).param).toBe('content_batch[1]')
  })
})

describe('names', () => {
  const body = {
    model_id: 'm',
    messages: [
      { role: 'system', content: 'a' },
      { ...hi, context: 'b' },
      { role: 'user', content: [{ type: 'text', text: 'c' }] },
    ],
    tools: [{ tool_name: 'f', parameters: { a: { param_type: 'int' } } }],
  }

  test.each<[CanonicalPath, string]>([
    [['model'], 'model_id'],
    [['prompt', 'messages', 0], 'messages[0]'],
    [['prompt', 'messages', 1, 'content', 0], 'messages[1].content'],
    [['prompt', 'messages', 1, 'content', 2], 'messages[1].context'],
    [['prompt', 'messages', 2, 'content', 0], 'messages[2].content[0]'],
    [['prompt', 'messages', 9], 'messages'],
    [['prompt', 'tools', 0, 'name'], 'tools[0].tool_name'],
    [['prompt', 'tools', 0, 'parameters', 'a'], 'tools[0].parameters.a'],
    [['toolChoice'], 'tool_config.tool_choice'],
    [['maxOutputTokens'], 'sampling_params.max_tokens'],
    [['sampling', 'topK'], 'sampling_params.strategy.top_k'],
    [['output', 'schema', 'properties'], 'response_format.json_schema.properties'],
    [['logprobs', 'top'], 'logprobs.top_k'],
  ])('%j is %s', (path, name) => {
    expect(decodeNow(chat, body).nameOf(path)).toBe(name)
  })

  test('fields that are not known are listed, also inside of objects', () => {
    const { ignored } = decodeNow(chat, {
      ...body,
      extra: 1,
      messages: [
        { ...hi, id: 'x', content: [{ type: 'text', text: 'a', cache: true }] },
        { role: 'assistant', content: '', tool_calls: [{ call_id: 'c', tool_name: 'f', arguments: {}, index: 0 }] },
      ],
      tools: [{ tool_name: 'f', metadata: {}, parameters: { a: { param_type: 'int', title: 'A' } } }],
      sampling_params: { additional_params: {}, strategy: { type: 'greedy', seed: 1 } },
      tool_config: { strict: true },
      logprobs: { all: true },
      response_format: { type: 'json_schema', json_schema: {}, name: 'x' },
    })
    expect(ignored).toEqual([
      'extra',
      'messages[].content[].cache',
      'messages[].id',
      'messages[].tool_calls[].index',
      'tools[].metadata',
      'tools[].parameters.*.title',
      'sampling_params.additional_params',
      'sampling_params.strategy.seed',
      'tool_config.strict',
      'logprobs.all',
      'response_format.name',
    ])
  })

  test('those of a batch are listed with both of their lists', () => {
    const item = { type: 'text', text: 'a', cache: true }
    const messages = [{ ...hi, id: 'x', content: [item] }]
    const listed = [
      decodeNow(batchChat, { model_id: 'm', messages_batch: [[hi], messages] }),
      decodeNow(batchCompletion, { model_id: 'm', content_batch: ['a', item, [item]] }),
      decodeNow(completion, { model_id: 'm', content: item }),
      decodeEmbeddings({ model_id: 'm', contents: [item] }),
    ]
    expect(listed.map(({ ignored }) => ignored)).toEqual([
      ['messages_batch[][].content[].cache', 'messages_batch[][].id'],
      ['content_batch[].cache', 'content_batch[][].cache'],
      ['content.cache'],
      ['contents[].cache'],
    ])
  })
})
