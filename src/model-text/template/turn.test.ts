import fc from 'fast-check'
import { expect, test } from 'vitest'
import { assistant, call, image, reasoning, refusal, text } from '../../../test/support/parts.ts'
import type { Message, OutputPart, ToolResultPart } from '../../contract/request.ts'
import { type TemplateTurn, toMessage, toTurns } from './turn.ts'

const result = (toolCallId: string, words: string): ToolResultPart => ({
  type: 'tool-result',
  toolCallId,
  content: [text(words)],
})
const answer = (toolCallId: string, words: string): TemplateTurn => ({ role: 'tool', toolCallId, content: [text(words)] })
const turn = (
  content: TemplateTurn['content'],
  more: Partial<Extract<TemplateTurn, { role: 'assistant' }>> = {},
): TemplateTurn => ({
  role: 'assistant',
  content,
  toolCalls: [],
  ...more,
})

test.each<[string, readonly OutputPart[], readonly TemplateTurn[]]>([
  ['a text', [text('a')], [turn([text('a')])]],
  ['nothing', [], [turn([])]],
  [
    'thoughts, texts and calls, which templates show in this order',
    [text('a'), reasoning('x'), call('1', 'f', '{}'), reasoning('y'), text('b')],
    [turn([text('a'), text('b')], { reasoning: 'xy', toolCalls: [call('1', 'f', '{}')] })],
  ],
  ['a refusal, which is said', [text('Well.'), refusal('no')], [turn([text('Well.'), text('no')])]],
  ['an image between texts', [text('a'), image('AA=='), text('b')], [turn([text('a'), image('AA=='), text('b')])]],
  ['empty reasoning, which is not the same as none', [reasoning(''), text('a')], [turn([text('a')], { reasoning: '' })]],
])('a turn without results is one turn: %s', (_, parts, turns) => {
  expect(toTurns([assistant(...parts)])).toEqual(turns)
})

test.each<[string, readonly OutputPart[], readonly TemplateTurn[]]>([
  [
    'what follows a result is a turn of its own, with its own reasoning',
    [reasoning('x'), text('I look.'), call('1', 'f', '{}'), result('1', 'A'), reasoning('y'), text('Found.')],
    [
      turn([text('I look.')], { reasoning: 'x', toolCalls: [call('1', 'f', '{}')] }),
      answer('1', 'A'),
      turn([text('Found.')], { reasoning: 'y' }),
    ],
  ],
  [
    'results of parallel calls stay together',
    [call('1', 'f', '{}'), call('2', 'f', '{}'), result('2', 'B'), result('1', 'A'), text('Both.')],
    [
      turn([], { toolCalls: [call('1', 'f', '{}'), call('2', 'f', '{}')] }),
      answer('2', 'B'),
      answer('1', 'A'),
      turn([text('Both.')]),
    ],
  ],
  [
    'no empty turn follows a result at the end',
    [call('1', 'f', '{}'), result('1', 'A')],
    [turn([], { toolCalls: [call('1', 'f', '{}')] }), answer('1', 'A')],
  ],
  ['no empty turn precedes a result at the start', [result('1', 'A'), text('a')], [answer('1', 'A'), turn([text('a')])]],
  ['a result alone is a turn of the tool', [result('1', 'A')], [answer('1', 'A')]],
])('results inside a turn split it: %s', (_, parts, turns) => {
  expect(toTurns([assistant(...parts)])).toEqual(turns)
})

test('each part of a turn that is split has its name', () => {
  const message: Message = { ...assistant(text('a'), result('1', 'A'), text('b')), name: 'Ann' }
  expect(toTurns([message])).toEqual([turn([text('a')], { name: 'Ann' }), answer('1', 'A'), turn([text('b')], { name: 'Ann' })])
})

test('other messages are turns as they are', () => {
  const user: Message = { role: 'user', content: [text('q'), image('AA==')], name: 'Bob' }
  const failed: Message = { role: 'tool', toolCallId: '1', content: [text('no such city')], name: 'f', isError: true }
  expect(toTurns([user, failed])).toEqual([user, failed])
})

test('turns are messages again, with signed reasoning unless it has changed', () => {
  const signed: OutputPart = { type: 'reasoning', text: 'x', opaque: 'signature:s' }
  const messages: Message[] = [
    { role: 'system', content: [text('s')] },
    { role: 'user', content: [text('q'), image('AA==')], name: 'Bob' },
    { ...assistant(signed, reasoning('y'), text('a'), call('1', 'f', '{}')), name: 'Ann' },
    { role: 'tool', toolCallId: '1', content: [text('no such city')], name: 'f', isError: true },
    assistant(reasoning('z'), text('b')),
  ]
  expect(toTurns(messages).map(toMessage)).toEqual(messages)
  const [turned] = toTurns([assistant(signed)]) as [Extract<TemplateTurn, { role: 'assistant' }>]
  expect(toMessage({ ...turned, reasoning: 'w\n\nx' })).toEqual(assistant(reasoning('w\n\nx')))
  const { reasoning: _, ...thoughtless } = turned
  expect(toMessage(thoughtless)).toEqual(assistant())
})

test('texts, calls and results keep their order, whatever stands between', () => {
  const part: fc.Arbitrary<OutputPart> = fc.oneof(
    fc.constantFrom('text', 'reasoning', 'refusal').map((type) => ({ type, text: 'a' }) as const),
    fc.constant(call('id', 'f', '{}')),
    fc.constant(result('id', 'a')),
  )
  fc.assert(
    fc.property(fc.array(part, { maxLength: 12 }), (drawn) => {
      const parts = drawn.map((one, index) => numbered(one, `${index}`))
      const turns = toTurns([assistant(...parts)])
      const ordered = turns.flatMap((one) => {
        if (one.role === 'tool') return [one.toolCallId]
        if (one.role !== 'assistant') return expect.unreachable('nobody else spoke')
        const ids = [...textsOf(one.content), ...one.toolCalls.map(({ id }) => id), ...(one.reasoning ?? '').split(/(?=#)/)]
        return ids.filter((id) => id !== '').sort((a, b) => Number(a.slice(1)) - Number(b.slice(1)))
      })
      // Inside a turn the kinds are apart; each is in order there, and turns are in order among themselves.
      expect(ordered).toEqual(parts.map((_, index) => `#${index}`))
      for (const one of turns) {
        if (one.role !== 'assistant') continue
        for (const ids of [textsOf(one.content), one.toolCalls.map(({ id }) => id), (one.reasoning ?? '').split(/(?=#)/)]) {
          expect(ids).toEqual(ids.toSorted((a, b) => Number(a.slice(1)) - Number(b.slice(1))))
        }
      }
    }),
  )
})

function textsOf(content: TemplateTurn['content']): readonly string[] {
  return content.map((part) => (part.type === 'text' ? part.text : ''))
}

/** The same part, recognisable by its place. */
function numbered(part: OutputPart, place: string): OutputPart {
  switch (part.type) {
    case 'text':
    case 'reasoning':
    case 'refusal':
      return { ...part, text: `#${place}` }
    case 'tool-call':
      return { ...part, id: `#${place}` }
    case 'tool-result':
      return { ...part, toolCallId: `#${place}` }
    case 'media':
      return part
  }
}
