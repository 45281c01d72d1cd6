import type { Token } from 'node-llama-cpp'
import type { EmbedInput } from '../../../contract/engine.ts'
import { AppError } from '../../../contract/errors.ts'
import { type CanonicalPath, field } from '../../../contract/field.ts'
import type { Answer, Question } from '../channel/questions.ts'
import type { WorkerModel } from './model.ts'
import { bareTokens, renderSegments, tokenizeSegmentsNow } from './prompt.ts'
import { rankTokens } from './rank-tokens.ts'

type Asked<T extends Question['type']> = Extract<Question, { type: T }>

/** A text of this length holds up everything else in the worker for some hundred milliseconds. */
const maxTextChars = 1024 * 1024

/** Answers what the worker is asked besides to generate. Throws `AppError` for what cannot be answered. */
export async function answerQuestion(loaded: WorkerModel, question: Question, cancelled: () => boolean): Promise<Answer> {
  switch (question.type) {
    case 'tokenize':
      return { type: 'tokens', tokens: Uint32Array.from(tokenize(loaded, question)) }
    case 'detokenize':
      return { type: 'text', text: loaded.model.detokenize([...question.tokens] as Token[], question.special) }
    case 'render':
      return { type: 'text', text: joined(renderSegments(loaded, question).segments) }
    case 'embed':
      return embed(loaded, question, cancelled)
    case 'rank':
      return rank(loaded, question, cancelled)
  }
}

function tokenize(loaded: WorkerModel, { prompt, reasoning, addBos, parseSpecial }: Asked<'tokenize'>): number[] {
  const { model } = loaded
  const { segments } = renderSegments(loaded, { prompt, reasoning })
  refuseTooLong(joined(segments), prompt.type === 'text' ? ['prompt', 'text'] : ['prompt', 'messages'])
  const cut = segments.map((segment) => ({
    ...segment,
    // A conversation's own texts stay texts; a text that is sent by itself is read as the caller says.
    literal: !parseSpecial || (prompt.type === 'chat' && segment.literal),
  }))
  if (addBos) return tokenizeSegmentsNow(model, cut)
  const tokens = bareTokens(model, cut)
  const { bos, shouldPrependBosToken } = model.tokens
  // Templates often write the token that the tokenizer would have added; where it adds none, it is part of a turn's mark.
  return prompt.type === 'chat' && shouldPrependBosToken && tokens[0] === bos ? tokens.slice(1) : tokens
}

async function embed({ model, embedder }: WorkerModel, { inputs }: Asked<'embed'>, cancelled: () => boolean): Promise<Answer> {
  if (embedder.pooling === 'rank') {
    const message = 'this model ranks documents and makes no vectors; choose an embedding model'
    throw new AppError('invalid-request', message, { at: ['model'] })
  }
  const read = (index: number) => {
    const at = ['inputs', index]
    const bare = inputTokens(model, inputs[index] as EmbedInput, at)
    if (bare.length > 0) return withEnds(model, bare)
    throw new AppError('invalid-request', `${field(...at)} holds no tokens to embed`, { at })
  }
  const computed = await compute(embedder, { paths: inputs.map((_, index) => ['inputs', index]), read }, cancelled)
  return computed === 'cancelled' ? { type: 'cancelled' } : { type: 'vectors', ...computed }
}

async function rank({ model, embedder }: WorkerModel, request: Asked<'rank'>, cancelled: () => boolean): Promise<Answer> {
  if (embedder.pooling !== 'rank') {
    const message = 'this model has no ranking head, so it cannot score texts; choose a reranking model'
    throw new AppError('invalid-request', message, { at: ['model'] })
  }
  if (request.query !== undefined) refuseTooLong(request.query, ['query'])
  const read = (index: number) => {
    const text = request.texts[index] ?? ''
    refuseTooLong(text, ['texts', index])
    return rankTokens(model, request, text)
  }
  const computed = await compute(embedder, { paths: request.texts.map((_, index) => ['texts', index]), read }, cancelled)
  if (computed === 'cancelled') return { type: 'cancelled' }
  const { vectors, inputTokens } = computed
  // llama.cpp ends the graphs of these architectures with a softmax (llm_graph_context::build_pooling).
  const areProbabilities = /^qwen3(vl)?$/.test(model.fileInfo.metadata.general.architecture)
  return { type: 'scores', scores: vectors.map(([score = 0]) => score), areProbabilities, inputTokens }
}

type Work = { readonly paths: readonly CanonicalPath[]; read(index: number): Token[] }

/** Reads all texts before it computes the first, so that a text at fault costs nothing. */
async function compute(
  embedder: WorkerModel['embedder'],
  { paths, read }: Work,
  cancelled: () => boolean,
): Promise<{ vectors: Float32Array[]; inputTokens: number } | 'cancelled'> {
  const texts: Token[][] = []
  for (const [index, at] of paths.entries()) {
    if (cancelled()) return 'cancelled'
    const tokens = read(index)
    if (tokens.length === 0) throw new AppError('invalid-request', `${field(...at)} holds no tokens`, { at })
    if (tokens.length > embedder.maxTokens) throw tooManyTokens(tokens.length, embedder.maxTokens, at)
    texts.push(tokens)
    // Others have their turn between two texts.
    await new Promise(setImmediate)
  }
  const vectors: Float32Array[] = []
  for (const tokens of texts) {
    const vector = await embedder.embed(tokens, cancelled)
    if (vector === 'cancelled') return 'cancelled'
    vectors.push(vector)
  }
  return { vectors, inputTokens: texts.reduce((sum, tokens) => sum + tokens.length, 0) }
}

function inputTokens(model: WorkerModel['model'], input: EmbedInput, at: CanonicalPath): Token[] {
  if (input.type === 'tokens') return [...input.tokens] as Token[]
  refuseTooLong(input.text, at)
  return [...model.tokenize(input.text)]
}

function tooManyTokens(tokens: number, limit: number, at: CanonicalPath): AppError {
  const message = `the maximum context length for one text is ${limit} tokens, but ${field(...at)} has ${tokens}; shorten or split it`
  return new AppError('context-length-exceeded', message, { at })
}

function refuseTooLong(text: string, at: CanonicalPath): void {
  if (text.length <= maxTextChars) return
  const message = `${field(...at)} has ${text.length} characters; at most ${maxTextChars} are read at once: split it`
  throw new AppError('invalid-request', message, { at })
}

function joined(segments: readonly { readonly text: string }[]): string {
  return segments.map(({ text }) => text).join('')
}

/** What llama.cpp's own tokenizer puts around a text, as the model's file wants it. Token ids may already have it. */
function withEnds({ tokens: special, vocabularyType }: WorkerModel['model'], tokens: Token[]): Token[] {
  const ends = {
    first: special.shouldPrependBosToken ? special.bos : null,
    last: special.shouldAppendEosToken ? special.eos : null,
  }
  if (vocabularyType === 'wpm') Object.assign(ends, { first: special.bos, last: special.sep })
  if (vocabularyType === 'ugm') Object.assign(ends, { first: null, last: special.eos })
  const { first, last } = ends
  const begun = first !== null && tokens[0] !== first ? [first, ...tokens] : tokens
  return last !== null && begun.at(-1) !== last ? [...begun, last] : begun
}
