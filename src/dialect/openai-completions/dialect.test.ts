import { afterEach, describe, expect, test } from 'vitest'
import { createTestServer, readAll, receive, sendChat } from '../../../test/support/http/test-server.ts'
import { createWireCheck } from '../../../test/support/wire-schema.ts'
import { createFakeEngine } from '../../engine/fake/engine.ts'
import { createOpenaiCompletions } from './dialect.ts'

const openaiCompletions = createOpenaiCompletions({ systemFingerprint: 'dragoman-1' })

const check = createWireCheck('OpenAICompletion')
const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()))
})

/** Sends a completion request to a server whose fake engine answers with the prompt itself. */
async function complete(fields: object): Promise<{ status: number; text: string }> {
  const { listen, drain } = createTestServer({ engine: createFakeEngine({ script: 'from-request' }) })
  closers.push(() => drain(0))
  const request = sendChat(await listen(), JSON.stringify({ model: 'default', ...fields }), { path: '/v1/completions' })
  const response = await receive(request)
  return { status: response.statusCode ?? 0, text: await readAll(response) }
}

describe('POST /v1/completions', () => {
  test('ids are unique and OpenAI-shaped', () => {
    expect(openaiCompletions.createId()).toMatch(/^cmpl-[0-9a-f]{32}$/)
    expect(openaiCompletions.createId()).not.toBe(openaiCompletions.createId())
  })

  test('several prompts are answered in one reply, numbered in order', async () => {
    const { status, text } = await complete({ prompt: ['one two', 'three'], echo: true })
    const reply = JSON.parse(text)
    check(reply)
    expect(status).toBe(200)
    expect(reply).toMatchObject({
      id: expect.stringMatching(/^cmpl-/),
      choices: [
        { index: 0, text: 'one twoone two' },
        { index: 1, text: 'threethree' },
      ],
      usage: { prompt_tokens: 3, completion_tokens: 3, total_tokens: 6 },
    })
  })

  test('several prompts are streamed as one, with one end', async () => {
    const { text } = await complete({ prompt: ['one two', 'three'], stream: true, stream_options: { include_usage: true } })
    const chunks = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json]) => JSON.parse(json ?? ''))
    for (const chunk of chunks) check(chunk)
    const texts = ['', '']
    for (const { choices } of chunks) for (const { index, text: delta } of choices) texts[index] += delta
    expect(texts).toEqual(['one two', 'three'])
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 3 } })
    expect(text.match(/\[DONE\]/g)).toHaveLength(1)
  })

  test('an echo of token ids is their text, and with logprobs their scores', async () => {
    const prompt = [[...Buffer.from('aé')], [98]]
    const { text } = await complete({ prompt, echo: true, max_tokens: 0 })
    const reply = JSON.parse(text)
    check(reply)
    expect(reply).toMatchObject({
      choices: [
        { index: 0, text: 'aé', logprobs: null, finish_reason: 'length' },
        { index: 1, text: 'b', logprobs: null, finish_reason: 'length' },
      ],
      usage: { prompt_tokens: 4, completion_tokens: 0 },
    })
    const scored = JSON.parse((await complete({ prompt: 'one two', echo: true, logprobs: 1, n: 2 })).text)
    check(scored)
    const logprobs = {
      tokens: ['one', ' two', 'one', ' two'],
      token_logprobs: [null, 0, 0, 0],
      top_logprobs: [null, { ' two': 0 }, { one: 0 }, { ' two': 0 }],
      text_offset: [0, 3, 7, 10],
    }
    const whole = { text: 'one twoone two', logprobs }
    expect(scored.choices).toMatchObject([whole, whole])
  })

  test('an error is in OpenAI’s words, with its param', async () => {
    const { status, text } = await complete({ prompt: 'a', suffix: 'b' })
    expect(status).toBe(400)
    expect(JSON.parse(text).error).toMatchObject({ type: 'invalid_request_error', param: 'suffix', code: 'unsupported_field' })
  })
})
