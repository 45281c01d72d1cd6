import { describe, expect, test } from 'vitest'
import { byUrl, call, reasoning, refusal, sentAudio, text } from '../../../test/support/parts.ts'
import { AppError } from '../../contract/errors.ts'
import type { MediaPart, Message, OutputPart } from '../../contract/request.ts'
import { decodeChat } from './decode.ts'

function messagesOf(...messages: readonly unknown[]): readonly Message[] {
  const { prompt } = decodeChat({ model: 'm', messages }, 'x').request
  return prompt.type === 'chat' ? prompt.messages : []
}

function failureOf(...messages: readonly unknown[]): AppError {
  try {
    messagesOf(...messages)
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
  throw new Error('the messages were accepted')
}

const wireCall = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a": 1}' } }

describe('decodeMessages', () => {
  test.each(['system', 'developer', 'user'])('a %s message keeps its role and name', (role) => {
    expect(messagesOf({ role, content: 'a', name: 'Ann' })).toEqual([{ role, content: [text('a')], name: 'Ann' }])
  })

  test.each(['system', 'developer', 'user', 'assistant'])('text and a list of one text part are the same for %s', (role) => {
    expect(messagesOf({ role, content: [text('a')] })).toEqual(messagesOf({ role, content: 'a' }))
    expect(messagesOf({ role, content: [text('')] })).toEqual(messagesOf({ role, content: '' }))
  })

  test('text and a list of one text part are the same for tool results', () => {
    const result = { role: 'tool', tool_call_id: 'call_1' }
    expect(messagesOf({ ...result, content: [text('a')] })).toEqual(messagesOf({ ...result, content: 'a' }))
  })

  test('parts keep their order and kind', () => {
    const content = [
      text('a'),
      { type: 'image_url', image_url: { url: 'data:image/jpeg;base64,BB==', detail: 'low' } },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==', detail: null } },
      { type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } },
      { type: 'input_audio', input_audio: { data: 'CC==', format: 'mp3' } },
    ]
    expect(messagesOf({ role: 'user', content })).toEqual([
      {
        role: 'user',
        content: [
          text('a'),
          { ...byUrl('image', 'data:image/jpeg;base64,BB=='), detail: 'low' },
          byUrl('image', 'data:image/png;base64,AA=='),
          sentAudio('AA=='),
          sentAudio('CC==', 'audio/mpeg'),
        ],
      },
    ])
  })

  test.each<[object, MediaPart]>([
    [{ type: 'image_url', image_url: 'https://x.example/a.png' }, byUrl('image', 'https://x.example/a.png')],
    [{ type: 'audio_url', audio_url: { url: 'file:///a.wav' } }, byUrl('audio', 'file:///a.wav')],
    [{ type: 'video_url', video_url: { url: 'data:video/mp4;base64,AA==' } }, byUrl('video', 'data:video/mp4;base64,AA==')],
    [
      { type: 'input_audio', input_audio: { data: 'AA==' } },
      { ...sentAudio('AA=='), source: { type: 'base64', base64: 'AA==' } },
    ],
    [{ type: 'input_audio', input_audio: { data: 'data:audio/wav;base64,AA==' } }, byUrl('audio', 'data:audio/wav;base64,AA==')],
    [
      { type: 'file', file: { file_id: 'file-1' } },
      { type: 'media', kind: 'file', source: { type: 'file', id: 'file-1' } },
    ],
    [
      { type: 'file', file: { file_data: 'data:application/pdf;base64,AA==', filename: 'a.pdf' } },
      { ...byUrl('file', 'data:application/pdf;base64,AA=='), filename: 'a.pdf' },
    ],
    [{ type: 'file', file: { file_data: 'data:image/png;base64,AA==' } }, byUrl('image', 'data:image/png;base64,AA==')],
  ])('%j is what it refers to', (part, media) => {
    expect(messagesOf({ role: 'user', content: [part] })).toEqual([{ role: 'user', content: [media] }])
  })

  test('messages stay in their order, whatever their roles', () => {
    const roles = ['user', 'system', 'user', 'developer', 'system', 'user']
    expect(messagesOf(...roles.map((role) => ({ role, content: 'a' }))).map(({ role }) => role)).toEqual(roles)
  })

  test.each<[string, object, readonly OutputPart[]]>([
    ['null content', { content: null }, []],
    ['no content', {}, []],
    ['a refusal field', { content: null, refusal: 'no' }, [refusal('no')]],
    ['a refusal part', { content: [{ type: 'refusal', refusal: 'no' }] }, [refusal('no')]],
    ['reasoning_content', { content: 'a', reasoning_content: 'b' }, [reasoning('b'), text('a')]],
    ['reasoning', { content: 'a', reasoning: 'b' }, [reasoning('b'), text('a')]],
    [
      'both spellings of reasoning, as we send them',
      { content: 'a', reasoning: 'b', reasoning_content: 'b' },
      [reasoning('b'), text('a')],
    ],
    ['tool calls', { content: null, tool_calls: [wireCall] }, [call('call_1', 'f', '{"a": 1}')]],
    [
      'tool calls with arguments as an object',
      { tool_calls: [{ ...wireCall, function: { name: 'f', arguments: { a: 1 } } }] },
      [call('call_1', 'f', '{"a":1}')],
    ],
    [
      'custom tool calls',
      { tool_calls: [{ id: 'c', type: 'custom', custom: { name: 'f', input: 'a "b"' } }] },
      [{ type: 'tool-call', id: 'c', name: 'f', kind: 'custom', input: 'a "b"' }],
    ],
    ['tool calls without a type', { tool_calls: [{ id: 'c', function: { name: 'f', arguments: '' } }] }, [call('c', 'f', '{}')]],
    [
      'all optional fields null',
      { content: 'a', refusal: null, reasoning: null, tool_calls: null, function_call: null, audio: null, name: null },
      [text('a')],
    ],
    [
      'a refusal part between texts',
      { content: [text('a'), { type: 'refusal', refusal: 'no' }, text('b')] },
      [text('a'), refusal('no'), text('b')],
    ],
    [
      'everything, in the order in which models write it',
      { content: 'a', reasoning: 'b', refusal: 'no', tool_calls: [wireCall] },
      [reasoning('b'), text('a'), refusal('no'), call('call_1', 'f', '{"a": 1}')],
    ],
    [
      'annotations, of which those of unknown types mean nothing',
      {
        content: [{ type: 'refusal', refusal: 'no' }, text('a'), text('b')],
        annotations: [
          { type: 'url_citation', url_citation: { url: 'https://a.example', title: 'A', start_index: 0, end_index: 1 } },
          { type: 'file_citation', file_citation: { file_id: 'file-1' } },
          { type: 'url_citation', url_citation: { url: 'https://b.example' } },
        ],
      },
      [
        refusal('no'),
        {
          ...text('a'),
          annotations: [
            { type: 'url-citation', url: 'https://a.example', title: 'A', startIndex: 0, endIndex: 1 },
            { type: 'url-citation', url: 'https://b.example' },
          ],
        },
        text('b'),
      ],
    ],
    [
      'annotations and no text to annotate',
      { content: null, annotations: [{ type: 'url_citation', url_citation: { url: 'https://a.example' } }] },
      [],
    ],
  ])('an assistant message with %s', (_, fields, parts) => {
    expect(messagesOf({ role: 'assistant', ...fields })).toEqual([{ role: 'assistant', parts }])
  })

  test('a tool result names its call', () => {
    expect(messagesOf({ role: 'tool', tool_call_id: 'call_1', content: 'r', name: 'f' })).toEqual([
      { role: 'tool', content: [text('r')], toolCallId: 'call_1', name: 'f' },
    ])
  })

  test('an empty tool_call_id in a message of another role is left out', () => {
    expect(messagesOf({ role: 'user', content: 'a', tool_call_id: '' })).toEqual([{ role: 'user', content: [text('a')] }])
  })

  test('a tool that returned nothing has an empty result, and one of an unknown call is kept', () => {
    expect(messagesOf({ role: 'tool', tool_call_id: 'call_9', content: null })).toEqual([
      { role: 'tool', content: [], toolCallId: 'call_9' },
    ])
  })

  test('deprecated function calls and results become tool calls with matching ids', () => {
    const [, assistant, result] = messagesOf(
      { role: 'user', content: 'a' },
      { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{}' } },
      { role: 'function', name: 'f', content: 'r' },
    )
    expect(assistant).toEqual({ role: 'assistant', parts: [call('call_function_1', 'f', '{}')] })
    expect(result).toEqual({ role: 'tool', content: [text('r')], toolCallId: 'call_function_1', name: 'f' })
  })

  test('a function result without a call and without content is kept', () => {
    expect(messagesOf({ role: 'function', name: 'f', content: null })).toEqual([
      { role: 'tool', content: [], toolCallId: 'call_of_result_0', name: 'f' },
    ])
  })

  test.each<[object, string]>([
    [{ role: 'critic', content: 'a' }, 'messages[0].role'],
    [{ content: 'a' }, 'messages[0].role'],
    [{ role: 'user' }, 'messages[0].content'],
    [{ role: 'user', content: null }, 'messages[0].content'],
    [{ role: 'system', content: null }, 'messages[0].content'],
    [{ role: 'user', content: [text('a'), { type: 'text', text: 5 }] }, 'messages[0].content[1].text'],
    [{ role: 'user', content: [{ type: 'video_url' }] }, 'messages[0].content[0].video_url'],
    [{ role: 'user', content: [{ type: 'image_url', image_url: {} }] }, 'messages[0].content[0].image_url.url'],
    [{ role: 'user', content: [{ type: 'file', file: {} }] }, 'messages[0].content[0].file'],
    [{ role: 'user', content: [{ type: 'input_audio', input_audio: {} }] }, 'messages[0].content[0].input_audio.data'],
    [{ role: 'tool', content: 'a', tool_call_id: 5 }, 'messages[0].tool_call_id'],
    [{ role: 'function', content: 'a' }, 'messages[0].name'],
    [{ role: 'assistant', tool_calls: [{ id: 'c', type: 'function' }] }, 'messages[0].tool_calls[0].function'],
    [{ role: 'assistant', tool_calls: [{ id: 5, function: { name: 'f', arguments: '' } }] }, 'messages[0].tool_calls[0].id'],
    [{ role: 'assistant', tool_calls: [{ id: 'c', type: 'custom' }] }, 'messages[0].tool_calls[0].custom'],
    [
      { role: 'assistant', tool_calls: [{ id: 'c', type: 'custom', custom: { name: 'f' } }] },
      'messages[0].tool_calls[0].custom.input',
    ],
    [
      { role: 'assistant', tool_calls: [{ id: 'c', function: { name: 'f', arguments: 5 } }] },
      'messages[0].tool_calls[0].function.arguments',
    ],
    [{ role: 'assistant', reasoning: 'a', reasoning_content: 'b' }, 'messages[0].reasoning'],
  ])('%j is refused with its param', (message, param) => {
    expect(failureOf(message)).toMatchObject({ code: 'invalid-request', param })
  })

  test.each<[object, string]>([
    [{ role: 'assistant', audio: { id: 'x' } }, 'messages[0].audio'],
    [{ role: 'assistant', tool_calls: [{ id: 'c', type: 'web_search' }] }, 'messages[0].tool_calls[0].type'],
  ])('%j is not supported, and says so', (message, param) => {
    expect(failureOf(message)).toMatchObject({ code: 'unsupported-field', param })
  })

  test('a fault in one of many messages is found by its index', () => {
    const good = { role: 'user', content: 'a' }
    expect(failureOf(good, good, { role: 'user', content: 5 }).message).toBe(
      'messages[2].content: expected a string or an array of content parts, got 5',
    )
  })
})
