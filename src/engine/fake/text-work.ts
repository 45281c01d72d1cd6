import { hash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Embeddings, EmbedInput } from '../../contract/engine.ts'
import { AppError } from '../../contract/errors.ts'
import type { PromptToken } from '../../contract/event.ts'
import { field } from '../../contract/field.ts'
import type { GenerationRequest } from '../../contract/request.ts'
import { countWords, splitWords } from './words.ts'

/** Numbers in a vector of the fake model. */
export const fakeEmbeddingLength = 64

/** A longer text would hold up other work while its tokens are listed, as in the embedded engine. */
const maxTextChars = 1024 * 1024
/** The most tokens of a prompt that are reported: each is an object in the reply. */
const maxPromptTokens = 8192
/** Words that are hashed before other work of the process runs. */
const wordsPerTurn = 1000

/** The fake model's tokens are the bytes of the text in UTF-8, so that every text can be restored. */
export function fakeTokens(text: string, source: 'text' | 'chat' | 'tokens' | 'infill' = 'text'): readonly number[] {
  if (text.length <= maxTextChars) return [...Buffer.from(text)]
  const at = source === 'text' ? ['prompt', 'text'] : ['prompt', 'messages']
  const message = `${field(...at)} has ${text.length} characters, and a text may have ${maxTextChars}: split it`
  throw new AppError('invalid-request', message, { at })
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
  const pieces = piecesOf(prompt)
  if (pieces.length > maxPromptTokens) {
    const message = `the fake engine reports at most ${maxPromptTokens} tokens of a prompt, and this one has more: shorten or split it`
    throw new AppError('invalid-request', message, { at: ['prompt'] })
  }
  return pieces.map(({ id, bytes }, index) => {
    const shown = { id, text: Buffer.from(bytes).toString(), bytes: [...bytes] }
    if (logprobs === undefined || index === 0) return { ...shown, top: [] }
    return { ...shown, logprob: 0, top: logprobs.top > 0 ? [{ ...shown, logprob: 0 }] : [] }
  })
}

function piecesOf(prompt: GenerationRequest['prompt']): readonly { readonly id: number; readonly bytes: Uint8Array }[] {
  switch (prompt.type) {
    case 'text':
      return wordsOfPrompt(prompt.text).map((word, id) => ({ id, bytes: Buffer.from(word) }))
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

/** White space at the end belongs to the last word; more than the limit is one word too many. */
function wordsOfPrompt(text: string): readonly string[] {
  const words = splitWords(text, maxPromptTokens + 2)
  const last = words.at(-1) ?? ''
  return words.length < 2 || last.trim() !== '' ? words : [...words.slice(0, -2), `${words.at(-2)}${last}`]
}

/** A vector is a sum over words, so texts that share words are similar; the order of words does not matter. */
export async function fakeEmbeddings(
  inputs: readonly EmbedInput[],
  contextLength: number | undefined,
  signal: AbortSignal,
): Promise<Embeddings> {
  let inputTokens = 0
  for (const [index, input] of inputs.entries()) {
    const at = ['inputs', index]
    const length = input.type === 'tokens' ? input.tokens.length : await countWords([input.text])
    if (length === 0) throw new AppError('invalid-request', `${field(...at)} has no words to embed`, { at })
    inputTokens += length
    if (length <= (contextLength ?? length)) continue
    const message = `the maximum context length for one text is ${contextLength} tokens, but ${field(...at)} has ${length}; shorten it`
    const overflow = { inputTokens: length, contextLength: contextLength ?? 0 }
    throw new AppError('context-length-exceeded', message, { at, overflow })
  }
  const vectors: Float32Array[] = []
  const turn = { words: 0 }
  for (const input of inputs) vectors.push(await sumOfWords(wordsOf(input), { turn, signal }))
  return { vectors, inputTokens }
}

function* wordsOf(input: EmbedInput): Generator<string> {
  if (input.type === 'tokens') for (const token of input.tokens) yield String(token)
  else for (const [word] of input.text.toLowerCase().matchAll(/\S+/g)) yield word
}

type Pace = { readonly turn: { words: number }; readonly signal: AbortSignal }

async function sumOfWords(words: Iterable<string>, { turn, signal }: Pace): Promise<Float32Array> {
  const sum = new Float32Array(fakeEmbeddingLength)
  for (const word of words) {
    const digest = hash('sha512', word, 'buffer')
    for (let index = 0; index < fakeEmbeddingLength; index++) {
      sum[index] = (sum[index] as number) + ((digest[index] as number) - 127.5) / 127.5
    }
    if (++turn.words % wordsPerTurn > 0) continue
    await nextTurn()
    signal.throwIfAborted()
  }
  return sum
}
