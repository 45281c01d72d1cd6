import { describe, expect, test } from 'vitest'
import { answer, ask, engineOver, failure, upstream } from '../../../test/support/upstream/remote-engine.ts'
import type { Answer } from '../../../test/support/upstream/upstream.ts'
import type { GenerationRequest } from '../../contract/request.ts'
import { type ProfileName, profileNames } from './servers/profile.ts'
import { profiles } from './servers/profiles.ts'

/** A completion that repeats its prompt, with its tokens, and then says ` c`. */
const echoing =
  (prompt: readonly string[], { text = `${prompt.join('')} c`, choices = 1 } = {}): Answer =>
  (_, response) => {
    const tokens = [...prompt, ' c']
    const logprobs = {
      tokens,
      token_logprobs: tokens.map((_, index) => (index === 0 ? null : -index)),
      top_logprobs: tokens.map((token, index) => (index === 0 ? null : { x: -9, [token]: -index })),
    }
    const all = Array.from({ length: choices }, (_, index) => ({ index, text, logprobs, finish_reason: 'length' }))
    response.setHeader('content-type', 'application/json')
    const usage = { prompt_tokens: prompt.length, completion_tokens: choices, total_tokens: prompt.length + choices }
    response.end(JSON.stringify({ object: 'text_completion', choices: all, usage }))
  }

const scored = (prompt: GenerationRequest['prompt'], more: Partial<GenerationRequest> = {}): GenerationRequest => {
  return { ...ask(''), prompt, promptTokens: { logprobs: { top: 1 } }, logprobs: { top: 1 }, maxOutputTokens: 1, ...more }
}
const textOf = (tokens: readonly { readonly bytes: readonly number[] }[] = []) =>
  tokens.map(({ bytes }) => Buffer.from(bytes).toString())

describe('the log-probabilities of a prompt', () => {
  test('come from a server that repeats it, and are not those of the output', async () => {
    const server = await upstream(echoing(['a', ' b']))
    const engine = engineOver([server], { profile: 'vllm' })
    const { choices, usage } = await answer(engine, scored({ type: 'text', text: 'a b' }))
    expect(choices).toMatchObject([
      {
        promptTokens: [
          { text: 'a', top: [] },
          { text: ' b', logprob: -1, top: [{ text: ' b', logprob: -1 }] },
        ],
        parts: [{ type: 'text', text: ' c' }],
        tokens: [{ text: ' c', logprob: -2 }],
      },
    ])
    expect(choices[0]?.promptTokens?.[0]).not.toHaveProperty('logprob')
    expect(usage).toMatchObject({ inputTokens: 2, outputTokens: 1 })
    expect(server.seen.at(-1)?.body).toMatchObject({ echo: true, logprobs: 1, stream: false, max_tokens: 1 })
    expect(server.seen.at(-1)?.body).not.toHaveProperty('stream_options')
  })

  test('the log-probabilities of token ids have the texts that the server shows', async () => {
    const server = await upstream(echoing(['a', ' b']))
    const engine = engineOver([server], { profile: 'sglang' })
    const { choices } = await answer(engine, scored({ type: 'tokens', tokens: [1, 2] }))
    expect(textOf(choices[0]?.promptTokens)).toEqual(['a', ' b'])
    expect(choices[0]?.parts).toMatchObject([{ text: ' c' }])
  })

  test('parts of characters keep their bytes, also as the likely tokens of another place', async () => {
    const prompt = ['a', 'bytes:\\xc3', 'bytes:\\xa4']
    const server = await upstream(echoing(prompt, { text: 'aä c' }))
    const { choices } = await answer(engineOver([server], { profile: 'dragoman' }), scored({ type: 'tokens', tokens: [1, 2, 3] }))
    expect(choices[0]?.promptTokens?.map(({ bytes }) => bytes)).toEqual([[0x61], [0xc3], [0xa4]])
    expect(choices[0]?.promptTokens?.[1]?.top).toMatchObject([{ bytes: [0xc3] }])
    expect(choices[0]?.parts).toMatchObject([{ text: ' c' }])
  })

  test.each([
    ['a first token that the tokenizer adds is no part of the prompt', ['<s>', 'a', ' b'], 'a b', ['', 'a', ' b']],
    ['several tokens of one character are that character', ['a', '\ufffd', '\ufffd', 'b'], 'aäb', ['a', '', 'ä', 'b']],
    ['as OpenAI shows them', ['bytes:\\xc3', 'bytes:\\xa4'], 'ä', ['', 'ä']],
  ])("the prompt's tokens are divided: %s", async (_, tokens, text, pieces) => {
    const server = await upstream(echoing(tokens, { text: `${text} c` }))
    const { choices } = await answer(engineOver([server], { profile: 'vllm' }), scored({ type: 'text', text }))
    expect(textOf(choices[0]?.promptTokens)).toEqual(pieces)
    expect(choices[0]?.parts).toMatchObject([{ text: ' c' }])
  })

  test('come once for all choices', async () => {
    const server = await upstream(echoing(['a'], { choices: 2 }))
    const { choices } = await answer(
      engineOver([server], { profile: 'openai' }),
      scored({ type: 'text', text: 'a' }, { choices: 2 }),
    )
    expect(choices.map(({ promptTokens }) => promptTokens?.length)).toEqual([1, undefined])
    expect(choices.map(({ parts }) => parts)).toMatchObject([[{ text: ' c' }], [{ text: ' c' }]])
  })

  test('a server that leaves out the log-probabilities has failed', async () => {
    const server = await upstream((_, response) => {
      response.end(JSON.stringify({ choices: [{ index: 0, text: ' c', finish_reason: 'length' }], usage: { prompt_tokens: 1 } }))
    })
    const request = scored({ type: 'text', text: 'a' })
    expect(await failure(engineOver([server], { profile: 'openai' }), request)).toMatchObject({ code: 'upstream-failed' })
  })

  const lacking = profileNames.filter((kind: ProfileName) => profiles[kind].scoresPrompts !== true)
  test.each(lacking)('the log-probabilities are refused by their place where %s has none', async (profile) => {
    const server = await upstream(echoing(['a']))
    const engine = engineOver([server], { profile, protocol: 'chat' })
    const { logprobs: _, ...request } = scored({ type: 'text', text: 'a' })
    expect(await failure(engine, request)).toMatchObject({ code: 'unsupported-field', at: ['promptTokens'] })
  })
})
