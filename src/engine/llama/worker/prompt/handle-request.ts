import type { EmbedInput } from '../../../../contract/engine.ts'
import { AppError } from '../../../../contract/errors.ts'
import { type CanonicalPath, field } from '../../../../contract/field.ts'
import { gpusOf } from '../../binding/devices.ts'
import type { Token } from '../../binding/tokenizer.ts'
import { maxTokenBytes } from '../../channel/token-bytes.ts'
import type { WorkerReply, WorkerRequest } from '../../channel/worker-requests.ts'
import type { WorkerModel } from '../model/model.ts'
import { forPrompt } from '../model/model-template.ts'
import { bareTokens, markedPrompt, renderSegments, tokenizeSegmentsNow, tokenizeWithMedia } from './prompt.ts'
import { rankTokens } from './rank-tokens.ts'

type RequestOf<T extends WorkerRequest['type']> = Extract<WorkerRequest, { type: T }>

/** `mtmd_default_marker` */
const mediaMarker = '<__media__>'
/** Texts of one request that are computed concurrently. */
const textsAtOnce = 16

/** A text of this length blocks the worker for some hundred milliseconds. */
const maxTextChars = 1024 * 1024

/** Does the work of a request other than generating. Throws `AppError` for one that is invalid for this model. */
export async function handleRequest(loaded: WorkerModel, request: WorkerRequest, cancelled: () => boolean): Promise<WorkerReply> {
  switch (request.type) {
    case 'tokenize':
      return tokensOf(loaded, await tokenize(forPrompt(loaded, request.prompt), request), request)
    case 'detokenize':
      return { type: 'text', text: loaded.model.detokenize([...request.tokens] as Token[], request.special) }
    case 'render':
      return { type: 'text', text: render(forPrompt(loaded, request.prompt), request) }
    case 'embed':
      return embed(loaded, request, cancelled)
    case 'rank':
      return rank(loaded, request, cancelled)
    case 'devices':
      return { type: 'devices', devices: gpusOf(loaded.model.library) }
  }
}

function tokensOf({ model, vocabulary }: WorkerModel, tokens: readonly number[], { pieces }: RequestOf<'tokenize'>): WorkerReply {
  const ids = Uint32Array.from(tokens)
  if (!pieces) return { type: 'tokens', tokens: ids }
  const bytesOf = (token: Token) => {
    const bytes = vocabulary.bytesOf(token)
    // The output hides control tokens.
    return bytes.length > 0 ? bytes : Buffer.from(model.detokenize([token], true))
  }
  return { type: 'tokens', tokens: ids, pieces: (tokens as Token[]).map(bytesOf) }
}

/** The prompt's text, with what llama.cpp writes in place of media. */
function render(loaded: WorkerModel, request: RequestOf<'render'>): string {
  const marked = markedPrompt(request.prompt)
  if (marked === undefined) return joined(renderSegments(loaded, request).segments)
  return marked.marks.replace(joined(renderSegments(loaded, { ...request, prompt: marked.prompt }).segments), mediaMarker)
}

async function tokenize(loaded: WorkerModel, request: RequestOf<'tokenize'>): Promise<readonly number[]> {
  const { prompt, addBos, parseSpecial } = request
  const { model } = loaded
  const marked = markedPrompt(prompt)
  const { segments } = renderSegments(loaded, marked === undefined ? request : { ...request, prompt: marked.prompt })
  refuseTooLong(joined(segments), prompt.type === 'text' ? ['prompt', 'text'] : ['prompt', 'messages'])
  const literal = segments.map((segment) => ({
    ...segment,
    // The texts of a conversation are always literal; for a plain text, the caller decides.
    literal: !parseSpecial || (prompt.type === 'chat' && segment.literal),
  }))
  if (marked !== undefined) return (await tokenizeWithMedia(loaded, literal, marked)).tokens
  if (addBos) return tokenizeSegmentsNow(model, literal)
  const tokens = bareTokens(model, literal)
  const { bos, shouldPrependBosToken } = model.tokens
  // Templates often write the token that the tokenizer would have added; where it adds none, it is part of the template's delimiter.
  return prompt.type === 'chat' && shouldPrependBosToken && tokens[0] === bos ? tokens.slice(1) : tokens
}

async function embed(
  { model, embedder }: WorkerModel,
  { inputs }: RequestOf<'embed'>,
  cancelled: () => boolean,
): Promise<WorkerReply> {
  if (embedder.pooling === 'rank') {
    const message = 'this model ranks documents and makes no vectors; choose an embedding model'
    throw new AppError('invalid-request', message, { at: ['model'] })
  }
  const read = (index: number) => {
    const at = ['inputs', index]
    const input = inputs[index] as EmbedInput
    if (input.type === 'text') refuseTooLong(input.text, at, embedder.maxTokens)
    const bare = input.type === 'tokens' ? ([...input.tokens] as Token[]) : model.tokenize(input.text)
    if (bare.length > 0) return withEnds(model, bare)
    throw new AppError('invalid-request', `${field(...at)} has no tokens to embed`, { at })
  }
  return compute(embedder, { paths: inputs.map((_, index) => ['inputs', index]), read }, cancelled)
}

async function rank(
  { model, embedder }: WorkerModel,
  request: RequestOf<'rank'>,
  cancelled: () => boolean,
): Promise<WorkerReply> {
  if (embedder.pooling !== 'rank') {
    const message = 'this model has no ranking head, so it cannot score texts; choose a reranking model'
    throw new AppError('invalid-request', message, { at: ['model'] })
  }
  if (request.query !== undefined) refuseTooLong(request.query, ['query'], embedder.maxTokens)
  const read = (index: number) => {
    const text = request.texts[index] ?? ''
    refuseTooLong(text, ['texts', index], embedder.maxTokens)
    return rankTokens(model, request, text)
  }
  const computed = await compute(embedder, { paths: request.texts.map((_, index) => ['texts', index]), read }, cancelled)
  if (computed.type === 'cancelled') return computed
  const { vectors, inputTokens } = computed
  // llama.cpp ends the graphs of these architectures with a softmax (llm_graph_context::build_pooling).
  const areProbabilities = /^qwen3(vl)?$/.test(model.fileInfo.metadata.general.architecture)
  return { type: 'scores', scores: vectors.map(([score = 0]) => score), areProbabilities, inputTokens }
}

type Work = { readonly paths: readonly CanonicalPath[]; read(index: number): Token[] }

/** Tokenizes all texts before it computes the first, so that an invalid text costs nothing. */
async function compute(
  embedder: WorkerModel['embedder'],
  { paths, read }: Work,
  cancelled: () => boolean,
): Promise<Extract<WorkerReply, { type: 'vectors' | 'cancelled' }>> {
  const texts: Token[][] = []
  for (const [index, at] of paths.entries()) {
    if (cancelled()) return { type: 'cancelled' }
    const tokens = read(index)
    if (tokens.length === 0) throw new AppError('invalid-request', `${field(...at)} has no tokens`, { at })
    if (tokens.length > embedder.maxTokens) throw tooManyTokens(tokens.length, embedder.maxTokens, at)
    texts.push(tokens)
    // Lets other work of the process run between two texts.
    await new Promise(setImmediate)
  }
  const vectors: Float32Array[] = []
  let next = 0
  const computeNext = async () => {
    while (next < texts.length && !cancelled()) {
      const index = next++
      try {
        const vector = await embedder.embed(texts[index] as Token[], cancelled)
        if (vector !== 'cancelled') vectors[index] = vector
      } catch (error) {
        // Nobody reads the other vectors.
        next = texts.length
        throw error
      }
    }
  }
  // Leaves room for the texts of other requests.
  await Promise.all(Array.from({ length: textsAtOnce }, computeNext))
  if (cancelled()) return { type: 'cancelled' }
  return { type: 'vectors', vectors, inputTokens: texts.reduce((sum, tokens) => sum + tokens.length, 0) }
}

function tooManyTokens(tokens: number, limit: number, at: CanonicalPath): AppError {
  const message = `the maximum context length for one text is ${limit} tokens, but ${field(...at)} has ${tokens}; shorten or split it`
  return new AppError('context-length-exceeded', message, { at, overflow: { inputTokens: tokens, contextLength: limit } })
}

/** `maxTokens`: the limit of the model for one text; a far longer text is refused before it is tokenized. */
function refuseTooLong(text: string, at: CanonicalPath, maxTokens?: number): void {
  const limit = Math.min(maxTextChars, (maxTokens ?? maxTextChars) * maxTokenBytes)
  if (text.length <= limit) return
  const message = `${field(...at)} has ${text.length} characters, and a text may have ${limit}: split it`
  if (maxTokens === undefined) throw new AppError('invalid-request', message, { at })
  const overflow = { inputTokens: Math.ceil(text.length / maxTokenBytes), estimated: true, contextLength: maxTokens }
  throw new AppError('context-length-exceeded', message, { at, overflow })
}

function joined(segments: readonly { readonly text: string }[]): string {
  return segments.map(({ text }) => text).join('')
}

/** Adds the first and last token that the model's file requires, as llama.cpp's tokenizer does. Token ids may already have them. */
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
