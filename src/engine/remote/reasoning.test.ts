import { describe, expect, test } from 'vitest'
import { reasoning, text } from '../../../test/support/parts.ts'
import { answer, ask, engineOver, upstream } from '../../../test/support/upstream/remote-engine.ts'
import { chatChunk, doneLine, streamOf } from '../../../test/support/upstream/upstream.ts'
import { type GenerationRequest, plainChat, plainRequest } from '../../contract/request.ts'
import { type ProfileName, profileNames } from './servers/profile.ts'

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

/** The parts of the answer to a turn that begins with `start`, from a server that streams these deltas. */
async function partsOf(
  profile: ProfileName,
  start: string,
  deltas: readonly object[],
  stop: readonly string[] = [],
  output: GenerationRequest['output'] = { type: 'text' },
) {
  const end = chatChunk({ delta: {}, finish_reason: 'stop' })
  const up = await upstream(streamOf(...deltas.map((delta) => chatChunk({ delta })), end, doneLine))
  const messages = [
    { role: 'user', content: [text('hi')] },
    { role: 'assistant', parts: [text(start)] },
  ] as const
  const prompt = { type: 'chat', ...plainChat, messages, start: 'last-message' } as const
  const { choices } = await answer(engineOver([up], { profile }), ask('', { prompt, stop, output }))
  return choices[0]?.parts
}

describe.each(['vllm', 'sglang', 'aphrodite', 'llama-server'] as const)('a thought that the caller has begun, on %s', (kind) => {
  const inText = ['a', ' b</thi', 'nk>hello'].map((content) => ({ content }))
  const apart = [{ reasoning_content: 'a b' }, { content: 'hello' }]

  test('is separated in a text that goes on with it', async () => {
    expect(await partsOf(kind, '<think>Hm', inText)).toEqual([reasoning('a b'), text('hello')])
    const spaced = [{ content: 'a b\n</think>\n\n' }, { content: 'hello' }]
    expect(await partsOf(kind, '<think>Hm', spaced)).toEqual([reasoning('a b'), text('hello')])
    expect(await partsOf(kind, '<think>Hm', inText, ['b', 'lo'])).toEqual([reasoning('a b'), text('hel')])
  })

  test('leaves the text of a server alone that tells it apart itself', async () => {
    expect(await partsOf(kind, '<think>Hm', apart)).toEqual([reasoning('a b'), text('hello')])
    expect(await partsOf(kind, '<think>Hm', apart, ['b', 'lo'])).toEqual([reasoning('a b'), text('hel')])
  })

  test('is over where the caller has ended it', async () => {
    const said = [{ content: 'hello' }]
    expect(await partsOf(kind, '<think>Hm</think>', said)).toEqual([text('hello')])
    expect(await partsOf(kind, 'I ', said)).toEqual([text('hello')])
  })
})

test.each(['vllm', 'sglang'] as const)('a structure that %s begins with is the answer', async (kind) => {
  const json = [{ content: '{}' }]
  expect(await partsOf(kind, '<think>Hm', json, [], { type: 'json-object' })).toEqual([text('{}')])
})

test('another Dragoman tells a begun thought apart itself', async () => {
  expect(await partsOf('dragoman', '<think>Hm', [{ content: 'hello' }])).toEqual([text('hello')])
})
