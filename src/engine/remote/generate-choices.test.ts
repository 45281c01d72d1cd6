import { expect, test } from 'vitest'
import { ask, engineOver, never, upstream } from '../../../test/support/upstream/remote-engine.ts'
import { chatChunk, doneLine, streamOf, usageChunk } from '../../../test/support/upstream/upstream.ts'
import type { EngineEvent } from '../../contract/event.ts'

const threePieces = streamOf(
  ...['a', 'b', 'c'].map((content) => chatChunk({ delta: { content } })),
  chatChunk({ delta: {}, finish_reason: 'stop' }),
  usageChunk(1, 3),
  doneLine,
)

test('parallel choices wait for a slow reader one after the other, each in its order', async () => {
  const prepared = await engineOver([await upstream(threePieces, { ownedBy: 'llamacpp' })]).prepare(
    ask('hi', { choices: 3 }),
    never,
  )
  const seen: EngineEvent[] = []
  let pending = 0
  let mostPending = 0
  await prepared.run(never, async (event) => {
    seen.push(event)
    pending += 1
    mostPending = Math.max(mostPending, pending)
    await new Promise((resolve) => setImmediate(resolve))
    pending -= 1
  })
  expect(mostPending).toBe(1)
  for (const choice of [0, 1, 2]) {
    const texts = seen.flatMap((event) => (event.type === 'raw-text' && event.choice === choice ? [event.text] : []))
    expect(texts.join('')).toBe('abc')
  }
  expect(seen.at(-1)?.type).toBe('usage')
})

test('a failed reader gets nothing more, and its failure ends all choices', async () => {
  const prepared = await engineOver([await upstream(threePieces, { ownedBy: 'llamacpp' })]).prepare(
    ask('hi', { choices: 3 }),
    never,
  )
  const reason = new TypeError('the reader failed')
  let taken = 0
  const run = prepared.run(never, async () => {
    taken += 1
    await new Promise((resolve) => setImmediate(resolve))
    throw reason
  })
  await expect(run).rejects.toBe(reason)
  expect(taken).toBe(1)
})
