import { expect, test } from 'vitest'
import { contextOf } from '../../../test/support/http/context.ts'
import { text } from '../../../test/support/parts.ts'
import { blankPng } from '../../../test/support/pictures.ts'
import { engineOver, fine, knownEngine, never, upstream } from '../../../test/support/upstream/remote-engine.ts'
import type { Engine } from '../../contract/engine.ts'
import { type Message, plainChat } from '../../contract/request.ts'
import { createFakeEngine } from '../../engine/fake/engine.ts'
import { createMediaReader } from '../../media/reader.ts'
import { countTokens } from './count-tokens.ts'

const messages: readonly Message[] = [{ role: 'user', content: [text('Tell me a story of the sea.')] }]

function count(engine: Engine, fields: Partial<typeof plainChat & { messages: readonly Message[] }> = {}) {
  const prompt = { type: 'chat' as const, ...plainChat, messages, ...fields }
  return countTokens(
    { media: createMediaReader() },
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

test('the size of a picture counts in an estimate', async () => {
  const engine = await knownEngine([await upstream(fine)])
  const picture = (width: number, height: number): readonly Message[] => {
    const source = { type: 'base64', base64: blankPng(1, 1, { claimed: { width, height } }).toString('base64') } as const
    return [{ role: 'user', content: [{ type: 'media', kind: 'image', source }] }]
  }
  const small = await count(engine, { messages: picture(280, 280) })
  const large = await count(engine, { messages: picture(560, 560) })
  expect(large.inputTokens - small.inputTokens).toBe(300)
})

test('a server that does not answer is a failure, and not estimated', async () => {
  const server = await upstream(fine)
  const engine = engineOver([server])
  await server.close()
  await expect(count(engine)).rejects.toMatchObject({ code: 'model-unavailable' })
})
