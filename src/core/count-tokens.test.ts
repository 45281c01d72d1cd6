import { expect, test } from 'vitest'
import { contextOf } from '../../test/support/context.ts'
import { text } from '../../test/support/parts.ts'
import { engineOver, fine, knownEngine, never, upstream } from '../../test/support/remote-engine.ts'
import type { Engine } from '../contract/engine.ts'
import { type Message, plainChat } from '../contract/request.ts'
import { createFakeEngine } from '../engine/fake/engine.ts'
import { countTokens } from './count-tokens.ts'

const messages: readonly Message[] = [{ role: 'user', content: [text('Tell me a story of the sea.')] }]

function count(engine: Engine, fields: Partial<typeof plainChat & { messages: readonly Message[] }> = {}) {
  const prompt = { type: 'chat' as const, ...plainChat, messages, ...fields }
  return countTokens(
    {},
    { prompt, reasoning: { enabled: false }, toolChoice: { type: 'auto' } },
    contextOf(engine, { signal: never }),
  )
}

test('an engine with a tokenizer counts', async () => {
  expect(await count(createFakeEngine({ script: 'from-request' }))).toEqual({ inputTokens: 7, isEstimate: false })
})

test('behind a server without one, the count is an estimate that grows with the conversation', async () => {
  const engine = await knownEngine([await upstream(fine)])
  const short = await count(engine)
  const long = await count(engine, { messages: [...messages, ...messages] })
  expect(short).toEqual({ inputTokens: expect.any(Number), isEstimate: true })
  expect(long.inputTokens).toBe(2 * short.inputTokens)
})

test('a server that does not answer is a failure, and not estimated', async () => {
  const server = await upstream(fine)
  const engine = engineOver([server])
  await server.close()
  await expect(count(engine)).rejects.toMatchObject({ code: 'model-unavailable' })
})
