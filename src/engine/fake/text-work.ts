import { createHash } from 'node:crypto'
import type { Embeddings, EmbedInput } from '../../contract/engine.ts'
import { AppError } from '../../contract/errors.ts'
import type { PromptToken } from '../../contract/event.ts'
import { field } from '../../contract/field.ts'
import type { GenerationRequest } from '../../contract/request.ts'

/** Numbers in a vector of the fake model. */
export const fakeEmbeddingLength = 64

/** The fake model's tokens are the bytes of the text in UTF-8, so that every text can be restored. */
export function fakeTokens(text: string): readonly number[] {
  return [...Buffer.from(text)]
}

/** Throws `invalid-request` for an id that is not a byte. */
export function fakeText(tokens: readonly number[]): string {
  const index = tokens.findIndex((id) => id < 0 || id > 255)
  if (index === -1) return Buffer.from(tokens).toString()
  const message = `${field('tokens', index)} is ${tokens[index]}, but the fake engine's tokens are bytes: send 0 to 255`
  throw new AppError('invalid-request', message, { at: ['tokens'] })
}

/**
 * The tokens of a prompt, each with probability 1: the words of a text, as usage counts them, or the ids as bytes. Throws
 * `unsupported-field` for a conversation.
 */
export function fakePromptTokens({ prompt, promptTokens }: Pick<GenerationRequest, 'prompt' | 'promptTokens'>): PromptToken[] {
  if (promptTokens === undefined) return []
  const { logprobs } = promptTokens
  return piecesOf(prompt).map(({ id, bytes }, index) => {
    const shown = { id, text: Buffer.from(bytes).toString(), bytes: [...bytes] }
    if (logprobs === undefined || index === 0) return { ...shown, top: [] }
    return { ...shown, logprob: 0, top: logprobs.top > 0 ? [{ ...shown, logprob: 0 }] : [] }
  })
}

function piecesOf(prompt: GenerationRequest['prompt']): readonly { readonly id: number; readonly bytes: Uint8Array }[] {
  switch (prompt.type) {
    case 'text':
      return (prompt.text.match(/\s*\S+(?:\s+$)?|^\s+$/g) ?? []).map((word, id) => ({ id, bytes: Buffer.from(word) }))
    case 'tokens':
      return prompt.tokens.map((id, index) => {
        if (id <= 255) return { id, bytes: Uint8Array.of(id) }
        const message = `the prompt's token ${index} is ${id}, but the fake engine's tokens are bytes: send 0 to 255`
        throw new AppError('invalid-request', message, { at: ['prompt', 'tokens', index] })
      })
    case 'chat':
    case 'infill':
      throw new AppError('unsupported-field', 'the fake engine reports the tokens of plain prompts only', {
        at: ['promptTokens'],
      })
  }
}

/** A vector is a sum over words, so texts that share words are similar; the order of words does not matter. */
export function fakeEmbeddings(inputs: readonly EmbedInput[], contextLength: number | undefined): Embeddings {
  const words = inputs.map(wordsOf)
  for (const [index, { length }] of words.entries()) {
    const at = ['inputs', index]
    if (length === 0) throw new AppError('invalid-request', `${field(...at)} has no words to embed`, { at })
    if (length <= (contextLength ?? length)) continue
    const message = `the maximum context length for one text is ${contextLength} tokens, but ${field(...at)} has ${length}; shorten it`
    throw new AppError('context-length-exceeded', message, { at })
  }
  return { vectors: words.map(sumOfWords), inputTokens: words.reduce((sum, { length }) => sum + length, 0) }
}

function wordsOf(input: EmbedInput): readonly string[] {
  return input.type === 'tokens' ? input.tokens.map(String) : (input.text.toLowerCase().match(/\S+/g) ?? [])
}

function sumOfWords(words: readonly string[]): Float32Array {
  const sum = new Float32Array(fakeEmbeddingLength)
  for (const word of words) {
    for (const [index, byte] of createHash('sha512').update(word).digest().entries()) {
      sum[index] = (sum[index] ?? 0) + (byte - 127.5) / 127.5
    }
  }
  return sum
}
