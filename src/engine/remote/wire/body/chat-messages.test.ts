import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { codePoint } from '../../../../../test/support/code-point.ts'
import { assistant, audio, bytes, call, image, reasoning, refusal, text } from '../../../../../test/support/parts.ts'
import { roundsOf } from '../../../../../test/support/process/soak-length.ts'
import type { ContentPart, MediaPart, Message, OutputPart, ToolCallPart } from '../../../../contract/request.ts'
import { decodeChat } from '../../../../dialect/openai-chat/decode.ts'
import { toWireMessages } from './chat-messages.ts'

/** Messages as a server that knows all roles is sent them. */
function send(messages: readonly Message[]): readonly unknown[] {
  return JSON.parse(JSON.stringify(toWireMessages(messages, { developerRole: true })))
}

/** Messages as Dragoman reads them. */
function read(messages: readonly unknown[]): readonly Message[] {
  const { prompt } = decodeChat({ model: 'm', messages }, 'x').request
  return prompt.type === 'chat' ? prompt.messages.map(withBytes) : expect.unreachable('a chat is a chat')
}

function withBytes(message: Message): Message {
  return message.role === 'assistant'
    ? { ...message, parts: message.parts.map((part) => (part.type === 'media' ? believed(part) : part)) }
    : { ...message, content: message.content.map(believed) }
}

/** Media whose declared type is believed. */
function believed(part: ContentPart): ContentPart {
  if (part.type === 'text') return part
  const { source } = part
  if (source.type === 'base64') return { ...part, source: bytes(source.base64, source.mediaType ?? '') }
  const [, mediaType = '', base64 = ''] = source.type === 'url' ? (/^data:([^;]*);base64,(.*)$/.exec(source.url) ?? []) : []
  return { ...part, source: bytes(base64, mediaType) }
}

const words = fc.string({ unit: codePoint, maxLength: 20 })
const base64 = fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes).toString('base64'))
const imageType = fc.constantFrom('image/png', 'image/jpeg', 'image/webp', 'image/svg+xml')
const detail = fc.constantFrom('auto', 'low', 'high')
const textPart = words.map(text)
const mediaPart: fc.Arbitrary<MediaPart> = fc.oneof(
  fc
    .tuple(base64, imageType, fc.option(detail, { nil: undefined }))
    .map(([sent, mediaType, size]): MediaPart => ({ ...image(sent, mediaType), ...(size !== undefined && { detail: size }) })),
  fc.tuple(base64, fc.constantFrom('audio/wav', 'audio/mpeg')).map(([content, mediaType]) => audio(content, mediaType)),
)
/** A message without any content is one with an empty text, on the wire. */
const content = fc.array(fc.oneof(textPart, mediaPart), { minLength: 1, maxLength: 4 })
/** System messages have text only. */
const texts = fc.array(textPart, { minLength: 1, maxLength: 4 })
const name = { name: words }
/** An empty one would get another. */
const callId = words.filter((id) => id !== '')
/** Arguments are an object on the wire. */
const callPart: fc.Arbitrary<ToolCallPart> = fc
  .tuple(
    callId,
    words,
    fc.dictionary(words, fc.jsonValue()).map((members) => JSON.stringify(members)),
  )
  .map(([id, called, input]) => call(id, called, input))

/** An assistant's turn in the one order that chat has: reasoning, content, calls. */
const assistantParts: fc.Arbitrary<readonly OutputPart[]> = fc
  .record({
    thoughts: fc.array(words.map(reasoning), { maxLength: 1 }),
    said: fc.array(fc.oneof(textPart, mediaPart), { maxLength: 3 }),
    calls: fc.array(callPart, { maxLength: 3 }),
  })
  .filter(({ said, calls }) => said.length + calls.length > 0)
  .map(({ thoughts, said, calls }) => [...thoughts, ...said, ...calls])

const canonicalMessage: fc.Arbitrary<Message> = fc.oneof(
  fc.record({ role: fc.constant('user'), content, ...name } as const, { requiredKeys: ['role', 'content'] }),
  fc.record({ role: fc.constantFrom('system', 'developer'), content: texts, ...name } as const, {
    requiredKeys: ['role', 'content'],
  }),
  fc.record({ role: fc.constant('assistant'), parts: assistantParts, ...name } as const, { requiredKeys: ['role', 'parts'] }),
  fc.record({ role: fc.constant('tool'), toolCallId: callId, content, ...name } as const, {
    requiredKeys: ['role', 'toolCallId', 'content'],
  }),
)

/** Content on the wire in its shortest form: one text is a string, all else a list. */
const wireText = words.map((value) => ({ type: 'text', text: value }))
const wirePart = fc.oneof(
  wireText,
  fc.tuple(base64, imageType, fc.option(detail, { nil: undefined })).map(([bytes, type, size]) => ({
    type: 'image_url',
    image_url: { url: `data:${type};base64,${bytes}`, ...(size !== undefined && { detail: size }) },
  })),
  fc
    .tuple(base64, fc.constantFrom('wav', 'mp3'))
    .map(([data, format]) => ({ type: 'input_audio', input_audio: { data, format } })),
)
const wireContent = fc.oneof(
  words,
  fc.array(wirePart, { minLength: 1, maxLength: 4 }).filter(([first, ...rest]) => rest.length > 0 || first?.type !== 'text'),
)
const wireTexts = fc.oneof(words, fc.array(wireText, { minLength: 2, maxLength: 4 }))
const wireCall = callPart.map(({ id, name: called, input }) => {
  return { id, type: 'function', function: { name: called, arguments: input } }
})
const wireMessage = fc.oneof(
  fc.record({ role: fc.constant('user'), content: wireContent, ...name }, { requiredKeys: ['role', 'content'] }),
  fc.record({ role: fc.constantFrom('system', 'developer'), content: wireTexts, ...name }, { requiredKeys: ['role', 'content'] }),
  fc.record(
    { role: fc.constant('tool'), tool_call_id: callId, content: wireContent, ...name },
    { requiredKeys: ['role', 'tool_call_id', 'content'] },
  ),
  fc
    .record(
      {
        role: fc.constant('assistant'),
        content: fc.option(wireContent),
        thought: words,
        tool_calls: fc.array(wireCall, { minLength: 1, maxLength: 3 }),
        ...name,
      },
      { requiredKeys: ['role', 'content'] },
    )
    .filter((message) => message.content !== null || message.tool_calls !== undefined)
    // Both names: servers know one or the other.
    .map(({ thought, ...message }) =>
      thought === undefined ? message : { ...message, reasoning_content: thought, reasoning: thought },
    ),
)

describe('a conversation survives the chat protocol', () => {
  test('a conversation survives the chat protocol from canonical messages to the wire and back', () => {
    fc.assert(
      fc.property(fc.array(canonicalMessage, { minLength: 1, maxLength: 6 }), (messages) => {
        expect(read(send(messages))).toEqual(messages)
      }),
      { numRuns: roundsOf(100, 500) },
    )
  })

  test('a conversation survives the chat protocol from the wire to canonical messages and back', () => {
    fc.assert(
      fc.property(fc.array(wireMessage, { minLength: 1, maxLength: 6 }), (messages) => {
        expect(send(read(messages))).toEqual(messages)
      }),
      { numRuns: roundsOf(100, 500) },
    )
  })
})

/**
 * Chat has one text, one reasoning and one list of calls in a message, and no field for what a server signed, for how a call was
 * read, for tools whose input is no JSON, for a tool that failed, for what a text is based on in a request, or for the name of an
 * image's file. What the model said stays, in the nearest form that servers know.
 */
describe('what chat has no field for', () => {
  const result = { type: 'tool-result', toolCallId: 'a', content: [text('sunny')] } as const
  const answer: Message = { role: 'tool', toolCallId: 'a', content: [text('sunny')] }
  const f = call('a', 'f', '{}')

  test.each<[string, readonly Message[], readonly Message[]]>([
    [
      'a signature is left out',
      [assistant({ ...reasoning('hm'), opaque: 's' }, text('a'))],
      [assistant(reasoning('hm'), text('a'))],
    ],
    ['a refusal is text', [assistant(text('Well.'), refusal('No.'))], [assistant(text('Well.'), text('No.'))]],
    [
      'reasoning comes first, and is one',
      [assistant(text('a'), reasoning('x'), reasoning('y'), text('b'))],
      [assistant(reasoning('xy'), text('a'), text('b'))],
    ],
    ['calls come last', [assistant(text('a'), f, text('b'))], [assistant(text('a'), text('b'), f)]],
    ['a call without arguments has an empty object', [assistant(call('a', 'f', ''))], [assistant(f)]],
    [
      'arguments that are not the JSON of an object are text in one: servers parse them',
      [assistant(call('a', 'f', '{"to": "x'), call('b', 'f', '[1]'))],
      [assistant(call('a', 'f', '{"input":"{\\"to\\": \\"x"}'), call('b', 'f', '{"input":"[1]"}'))],
    ],
    [
      'how a call was read, and of which kind it is, is left out',
      [assistant({ ...f, kind: 'custom', state: 'repaired', raw: '{' })],
      [assistant(f)],
    ],
    [
      'annotations are left out',
      [assistant({ ...text('a'), annotations: [{ type: 'url-citation', url: 'u' }] })],
      [assistant(text('a'))],
    ],
    [
      "the name of an image's file is left out",
      [{ role: 'user', content: [{ ...image('AA=='), filename: 'cat.png' }] }],
      [{ role: 'user', content: [image('AA==')] }],
    ],
    ['that a tool failed is in its words', [{ ...answer, isError: true }], [answer]],
    [
      'a result inside a turn is a message, and what follows it another',
      [assistant(f, result, text('Sunny.'))],
      [assistant(f), answer, assistant(text('Sunny.'))],
    ],
    ['nothing at all is an empty text', [assistant()], [assistant(text(''))]],
  ])('%s', (_, messages, received) => {
    expect(read(send(messages))).toEqual(received)
  })

  test('a video is a part that only some servers know', () => {
    const video: ContentPart = {
      type: 'media',
      kind: 'video',
      source: bytes('AA==', 'video/mp4'),
    }
    expect(send([{ role: 'user', content: [video] }])).toEqual([
      { role: 'user', content: [{ type: 'video_url', video_url: { url: 'data:video/mp4;base64,AA==' } }] },
    ])
  })
})
