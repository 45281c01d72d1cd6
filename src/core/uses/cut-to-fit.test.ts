import { expect, test } from 'vitest'
import { contextOf } from '../../../test/support/http/context.ts'
import { stubEngine } from '../../../test/support/upstream/stub-engine.ts'
import type { DetokenizeRequest, EmbedInput, TokenizeRequest, Tokenizer } from '../../contract/engine.ts'
import { AppError } from '../../contract/errors.ts'
import { cutToFit } from './cut-to-fit.ts'

/** A token is a letter. */
const tokenizer = {
  tokenize: async ({ prompt }: TokenizeRequest) =>
    [...(prompt.type === 'text' ? prompt.text : '')].map((letter) => letter.charCodeAt(0)),
  detokenize: async ({ tokens }: DetokenizeRequest) => String.fromCharCode(...tokens),
} as unknown as Tokenizer
const context = contextOf(stubEngine({ capabilities: { tokenizer } }))
const text = (words: string): EmbedInput => ({ type: 'text', text: words })

/** Reads up to four tokens, two of which stand around each text. */
function open() {
  const asked: (readonly EmbedInput[])[] = []
  const run = async (inputs: readonly EmbedInput[]) => {
    asked.push(inputs)
    for (const input of inputs) {
      const inputTokens = (input.type === 'text' ? input.text : input.tokens).length + 2
      const overflow = { inputTokens, contextLength: 4 }
      if (inputTokens > 4) throw new AppError('context-length-exceeded', 'too long', { overflow })
    }
    return inputs
  }
  return { run, asked }
}

test('inputs that fit are run once, as they are', async () => {
  const { run, asked } = open()
  expect(await cutToFit([text('ab')], run, context)).toEqual({ result: [text('ab')], cut: [] })
  expect(asked).toHaveLength(1)
})

test('of longer ones, the first tokens are kept, and they are named', async () => {
  const { run, asked } = open()
  const tokens: EmbedInput = { type: 'tokens', tokens: [1, 2, 3, 4, 5, 6] }
  const { result, cut } = await cutToFit([text('a'), text('abcdef'), tokens], run, context)
  expect(result).toEqual([text('a'), text('ab'), { type: 'tokens', tokens: [1, 2] }])
  expect(cut).toEqual([1, 2])
  expect(asked).toHaveLength(3)
})

test('a failure of another kind, and a model without a tokenizer, fail as without cutting', async () => {
  const broken = () => Promise.reject(new Error('broken'))
  await expect(cutToFit([text('a')], broken, context)).rejects.toThrow('broken')
  await expect(cutToFit([text('abcdef')], open().run, contextOf(stubEngine({})))).rejects.toThrow('no accessible tokenizer')
})

test('what never fits is given up', async () => {
  const overflow = { inputTokens: 9, contextLength: 4 }
  const never = () => Promise.reject(new AppError('context-length-exceeded', 'too long', { overflow }))
  await expect(cutToFit([text('abcdef')], never, context)).rejects.toThrow('too long')
})
