import { expect, test } from 'vitest'
import type { GenerationEvent } from '../../../contract/event.ts'
import { withRunningTimings } from './running-timings.ts'

const usage = { inputTokens: 9, cachedInputTokens: 4, outputTokens: 2, reasoningTokens: 0 }
const token = { id: 1, text: 'a', bytes: [97], logprob: -1, top: [] }
const events: readonly GenerationEvent[] = [
  { type: 'start', model: 'm', warnings: [] },
  { type: 'prompt-read', inputTokens: 9, cachedInputTokens: 4 },
  { type: 'text-delta', choice: 0, delta: 'a\n}\n\n' },
  { type: 'text-delta', choice: 0, delta: 'b', tokens: [token, token] },
  { type: 'finish', choice: 0, reason: 'stop' },
  { type: 'usage', usage, timings: {} },
]

/** Each event is a frame with its type and text, and takes 10 ms. */
function framesOf() {
  let nowMs = 0
  const plain = (event: GenerationEvent) =>
    event.type === 'start'
      ? ''
      : `data: ${JSON.stringify({ type: event.type, ...('delta' in event && { text: event.delta }) })}\n\n`
  const encoder = withRunningTimings({ encode: plain }, true, () => nowMs)
  return events.flatMap((event) => {
    nowMs += 10
    const text = encoder.encode(event)
    return text === '' ? [] : [JSON.parse(text.slice(6))]
  })
}

test('each frame but the last has the tokens and times so far', () => {
  const frames = framesOf()
  expect(frames.map(({ type, text }) => [type, text])).toEqual([
    ['prompt-read', undefined],
    ['text-delta', 'a\n}\n\n'],
    ['text-delta', 'b'],
    ['finish', undefined],
    ['usage', undefined],
  ])
  expect(frames.map(({ timings }) => timings && [timings.predicted_n, timings.prompt_ms, timings.predicted_ms])).toEqual([
    [0, 10, 0],
    [1, 20, 0],
    [3, 20, 10],
    [3, 20, 20],
    undefined,
  ])
  expect(frames[1]?.timings).toMatchObject({ cache_n: 4, prompt_n: 5, prompt_per_second: 250 })
})
