import { expect, test } from 'vitest'
import { reasoning, text } from '../../../../../test/support/parts.ts'
import { answer, ask, knownEngine, upstream } from '../../../../../test/support/upstream/remote-engine.ts'
import { type Answer, chatChunk, doneLine, streamOf } from '../../../../../test/support/upstream/upstream.ts'
import type { GenerationRequest } from '../../../../contract/request.ts'

/** A vLLM whose template begins a thought unless it is switched off; `deltas` is what it answers. */
async function vllm(deltas: readonly object[]) {
  const end = chatChunk({ delta: {}, finish_reason: 'stop' })
  const reply = streamOf(...deltas.map((delta) => chatChunk({ delta })), end, doneLine)
  let isOpen = false
  const answers: Answer = (request, response) => {
    if (request.path === '/tokenize') {
      isOpen = JSON.stringify(request.body).includes('"enable_thinking":true')
      response.end(JSON.stringify({ tokens: [1, 2] }))
    } else if (request.path === '/detokenize') response.end(JSON.stringify({ prompt: isOpen ? '<think>\n' : 'assistant\n' }))
    else return reply(request, response)
  }
  const server = await upstream(answers)
  const engine = await knownEngine([server], { profile: 'vllm' })
  const partsOf = async (more: Partial<GenerationRequest> = { reasoning: { enabled: true } }) =>
    (await answer(engine, ask('hi', more))).choices[0]?.parts
  const asked = () => server.seen.filter(({ path }) => path === '/detokenize').length
  return { partsOf, asked }
}

const inText = ['a', ' b\n</thi', 'nk>\n\nhello'].map((content) => ({ content }))

test('a thought that a template begins and a server leaves in its text is read, once a reply has shown it', async () => {
  const { partsOf, asked } = await vllm(inText)
  await partsOf()
  expect(asked()).toBe(0)
  for (let time = 0; time < 2; time++) expect(await partsOf()).toEqual([reasoning('a b'), text('hello')])
  // The prompts of its kind end alike.
  expect(asked()).toBe(1)
  await partsOf({ reasoning: { enabled: false } })
  expect(asked()).toBe(2)
})

test('a text is the answer where the prompt begins no thought, or where a structure is asked for', async () => {
  const { partsOf, asked } = await vllm(inText)
  await partsOf()
  expect(await partsOf({ reasoning: { enabled: false } })).toEqual([text('a b\n</think>\n\nhello')])
  await partsOf({ output: { type: 'regex', pattern: '[^]*' }, reasoning: { enabled: true } })
  expect(asked()).toBe(1)
})

test('a server that has told a thought apart is believed ever after', async () => {
  const { partsOf, asked } = await vllm([{ reasoning_content: 'a b' }, { content: 'the mark </think> is text' }])
  for (let time = 0; time < 2; time++) await partsOf()
  expect(asked()).toBe(0)
})
