import { describe, expect, test } from 'vitest'
import { reasoning, text } from '../../../test/support/parts.ts'
import { answer, ask, engineOver, upstream } from '../../../test/support/upstream/remote-engine.ts'
import { chatChunk, doneLine, streamOf } from '../../../test/support/upstream/upstream.ts'
import { plainRequest } from '../../contract/request.ts'
import { profileNames } from './servers/profile.ts'

/** A server that streams these deltas. */
function serverOf(deltas: readonly object[]) {
  const end = chatChunk({ delta: {}, finish_reason: 'stop' })
  return upstream(streamOf(...deltas.map((delta) => chatChunk({ delta })), end, doneLine))
}

/** The stop sequences that it was sent with each request. */
function sentTo({ seen }: Awaited<ReturnType<typeof serverOf>>) {
  return seen.filter(({ path }) => path.endsWith('completions')).map(({ body }) => body.stop)
}

const kinds = profileNames.filter((kind) => kind !== 'dragoman' && kind !== 'anthropic')

describe.each(kinds)('behind %s, which may look for stop sequences in reasoning,', (server) => {
  test('they are found in the answer only', async () => {
    const up = await serverOf([
      { reasoning_content: 'a STOP ' },
      { reasoning_content: 'b' },
      { content: '\n\nhello ST' },
      { content: 'OP world' },
    ])
    const engine = engineOver([up], { profile: server })
    expect((await answer(engine, ask('hi', { stop: ['STOP', '\n\n'] }))).choices).toMatchObject([
      { parts: [reasoning('a STOP b'), text('\n\nhello ')], finish: { reason: 'stop', stopSequence: 'STOP' } },
    ])
    expect(sentTo(up)).toEqual([undefined])
  })

  test('they are found behind reasoning that the server left in its text', async () => {
    const up = await serverOf(['<think>a ST', 'OP b</thi', 'nk>hello STOP world'].map((content) => ({ content })))
    const engine = engineOver([up], { profile: server })
    expect((await answer(engine, ask('hi', { stop: ['STOP'] }))).choices).toMatchObject([
      { parts: [reasoning('a STOP b'), text('hello ')], finish: { reason: 'stop', stopSequence: 'STOP' } },
    ])
  })
})

test('a server that ends only answers at them gets them', async () => {
  const up = await serverOf([{ content: 'hello ' }])
  await answer(engineOver([up], { profile: 'dragoman' }), ask('hi', { stop: ['STOP'] }))
  expect(sentTo(up)).toEqual([['STOP']])
})

test.each(['vllm', 'openai'] as const)(
  'the completion of a text has no reasoning: %s gets its stop sequences',
  async (profile) => {
    const up = await serverOf([])
    const request = { ...plainRequest, id: 'x', model: 'm', prompt: { type: 'text' as const, text: 'hi' }, stop: ['STOP'] }
    await answer(engineOver([up], { profile }), request)
    expect(sentTo(up)).toEqual([['STOP']])
  },
)
