import { expect, test } from 'vitest'
import type { EngineEvent, GeneratedToken } from '../../contract/event.ts'
import { Replay } from './replay.ts'

const lost = new Error('the process ended')
const raw = (text: string, choice = 0, tokens?: readonly GeneratedToken[]): EngineEvent => ({
  type: 'raw-text',
  choice,
  text,
  ...(tokens !== undefined && { tokens }),
})
const token = (text: string): GeneratedToken => ({ id: 1, text, bytes: [], logprob: -1, top: [] })
const read: EngineEvent = { type: 'prompt-read', inputTokens: 3, cachedInputTokens: 0 }
const finish = (choice = 0): EngineEvent => ({ type: 'finish', choice, reason: 'stop' })
const start: EngineEvent = { type: 'reasoning-start', choice: 0 }
const thought = (delta: string): EngineEvent => ({ type: 'reasoning-delta', choice: 0, delta })
const callDelta = (id: string, delta: string): EngineEvent => ({ type: 'tool-call-delta', choice: 0, id, delta })
const call = (id: string, delta: string): readonly EngineEvent[] => [
  { type: 'tool-call-start', choice: 0, id, name: 'f' },
  callDelta(id, delta),
]
const usage: EngineEvent = {
  type: 'usage',
  usage: { inputTokens: 3, cachedInputTokens: 0, outputTokens: 3, reasoningTokens: 0 },
  timings: {},
}

/** What the reader gets of a run that begins again after its first events. */
function replay(before: readonly EngineEvent[], again: readonly EngineEvent[]): readonly EngineEvent[] {
  const seen: EngineEvent[] = []
  const run = new Replay((event) => void seen.push(event))
  for (const event of before) void run.take(event)
  run.restart(lost)
  for (const event of again) void run.take(event)
  return seen
}

test.each<[string, readonly EngineEvent[], readonly EngineEvent[], readonly EngineEvent[]]>([
  ['nothing yet', [], [read, raw('a'), finish(), usage], [read, raw('a'), finish(), usage]],
  ['the prompt', [read], [read, raw('a'), finish(), usage], [read, raw('a'), finish(), usage]],
  ['text', [read, raw('a')], [read, raw('a'), raw('b'), finish(), usage], [read, raw('a'), raw('b'), finish(), usage]],
  ['text in other pieces', [raw('ab'), raw('c')], [raw('a'), raw('bcd'), finish()], [raw('ab'), raw('c'), raw('d'), finish()]],
  [
    'choices that take turns',
    [raw('a', 0), raw('x', 1), finish(1)],
    [raw('x', 1), raw('a', 0), raw('b', 0), finish(1), finish(0)],
    [raw('a', 0), raw('x', 1), finish(1), raw('b', 0), finish(0)],
  ],
  [
    'tokens without text of their own',
    [raw('', 0, [token('a')])],
    [raw('', 0, [token('a')]), raw('é', 0, [token('b')])],
    [raw('', 0, [token('a')]), raw('é', 0, [token('b')])],
  ],
  [
    'reasoning',
    [start, thought('ab')],
    [start, thought('a'), thought('bc'), { type: 'reasoning-end', choice: 0 }, raw('d'), finish()],
    [start, thought('ab'), thought('c'), { type: 'reasoning-end', choice: 0 }, raw('d'), finish()],
  ],
  [
    'calls with ids that the server makes anew',
    [...call('1', '{"a":'), ...call('2', '{"b"')],
    [...call('3', '{"a":'), ...call('4', '{"b":1}'), ...call('5', '{}'), finish()],
    [...call('1', '{"a":'), ...call('2', '{"b"'), callDelta('2', ':1}'), ...call('5', '{}'), finish()],
  ],
  [
    'prompt tokens',
    [{ type: 'prompt-tokens', choice: 0, promptTokens: [token('a'), token('b')] }],
    [{ type: 'prompt-tokens', choice: 0, promptTokens: [token('a'), token('b'), token('c')] }],
    [
      { type: 'prompt-tokens', choice: 0, promptTokens: [token('a'), token('b')] },
      { type: 'prompt-tokens', choice: 0, promptTokens: [token('c')] },
    ],
  ],
])('a reader who got %s gets the rest, and nothing twice', (_, before, again, expected) => {
  expect(replay(before, again)).toEqual(expected)
})

test.each<[string, readonly EngineEvent[], readonly EngineEvent[]]>([
  ['other text', [raw('abc')], [raw('ab'), raw('x')]],
  ['an earlier end', [raw('abc')], [raw('ab'), finish()]],
  ['no end', [raw('abc')], [raw('ab'), usage]],
  ['reasoning instead of text', [raw('abc')], [start, thought('abc')]],
  ['another call', call('1', '{'), [{ type: 'tool-call-start', choice: 0, id: '1', name: 'g' }]],
  ['text before the next block', [raw('a'), start, thought('x')], [raw('ab')]],
  ['tokens in other pieces', [raw('a', 0, [token('a')])], [raw('ab', 0, [token('ab')])]],
])('%s fails as the process did', (_, before, again) => {
  expect(() => replay(before, again)).toThrow(lost)
})
