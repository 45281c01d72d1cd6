import { expect, test } from 'vitest'
import type { GenerationRequest } from '../../../contract/request.ts'
import { decodeChat } from '../../openai-chat/decode.ts'
import { decodeCompletion } from '../../openai-completions/decode.ts'
import { encodePromptLogprobs } from './prompt-logprobs.ts'

const shown = (id: number, text: string) => ({ id, text, bytes: [...Buffer.from(text)] })

test('each token of a prompt but the first is reported with the most probable ones, by their ids', () => {
  const top = [
    { ...shown(7, 'b'), logprob: -0.5 },
    { ...shown(9, 'd'), logprob: -1.5 },
  ]
  const encoded = encodePromptLogprobs([
    { ...shown(3, 'a'), top: [] },
    { ...shown(7, 'b'), logprob: -0.5, top },
    { ...shown(5, 'c'), logprob: -4, top },
    { ...shown(-1, 'e'), logprob: Number.NEGATIVE_INFINITY, top: [] },
  ])
  const [seven, nine] = [
    { logprob: -0.5, rank: 1, decoded_token: 'b' },
    { logprob: -1.5, rank: 2, decoded_token: 'd' },
  ]
  expect(encoded).toEqual([
    null,
    { 7: seven, 9: nine },
    { 5: { logprob: -4, rank: null, decoded_token: 'c' }, 7: seven, 9: nine },
    { e: { logprob: -9999, rank: null, decoded_token: 'e' } },
  ])
})

const messages = [{ role: 'user', content: 'a' }]
const decoders: readonly [string, (more: object) => Pick<GenerationRequest, 'promptTokens'>][] = [
  ['a completion', (more) => decodeCompletion({ model: 'm', prompt: 'a', ...more }, 'r').requests[0]],
  ['a chat completion', (more) => decodeChat({ model: 'm', messages, ...more }, 'r').request],
]

test.each(decoders)('%s asks for those of its prompt, 0 for its tokens alone, and not in a stream', (_, decode) => {
  expect(decode({ prompt_logprobs: 2 }).promptTokens).toEqual({ logprobs: { top: 2 } })
  expect(decode({ prompt_logprobs: 0 }).promptTokens).toEqual({ logprobs: { top: 0 } })
  expect(decode({ prompt_logprobs: null }).promptTokens).toBeUndefined()
  expect(() => decode({ prompt_logprobs: 2, stream: true })).toThrow('not available in a stream')
})

test('an echo and the prompt have the same number of them', () => {
  const decode = (more: object) => decodeCompletion({ model: 'm', prompt: 'a', echo: true, prompt_logprobs: 2, ...more }, 'r')
  expect(decode({ logprobs: 2 })).toMatchObject({ promptLogprobs: { isTextHidden: false } })
  expect(decode({})).toMatchObject({ echoes: ['a'], promptLogprobs: { isTextHidden: true } })
  expect(() => decode({ logprobs: 3 })).toThrow('send the same number')
  expect(() => decode({ n: 5 })).toThrow('send at most 4')
})
