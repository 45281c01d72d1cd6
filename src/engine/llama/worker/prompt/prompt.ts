import { setImmediate as nextTurn } from 'node:timers/promises'
import { randomHex } from '../../../../base/random-hex.ts'
import { hasMedia } from '../../../../canonical/parts.ts'
import { AppError } from '../../../../contract/errors.ts'
import type { GenerationRequest, Prompt } from '../../../../contract/request.ts'
import { type ReasoningAtEnd, reasoningAtEnd, requestFormat } from '../../../../model-text/model-format.ts'
import { lastMessageStart, type PromptSegment, splitPrompt } from '../../../../model-text/template/literal-text.ts'
import { reasoningFront } from '../../../front/reasoning-front.ts'
import { checkContextFit } from '../../../shared/context-fit.ts'
import type { Model } from '../../binding/model.ts'
import type { Token } from '../../binding/tokenizer.ts'
import type { Command, Report } from '../../channel/ipc.ts'
import type { WorkerModel } from '../model/model.ts'
import { type MarkedPrompt, markMedia } from '../senses/mark-media.ts'
import { type PlacedPrompt, placeMedia, withFirst } from '../senses/place-media.ts'
import { infillTokens } from './infill.ts'

/** What turns texts into tokens. */
export type TokenizingModel = Pick<Model, 'tokens' | 'tokenize' | 'getTokenAttributes'>

/** The parts of a request that the prompt's text depends on. */
type PromptRequest = Pick<GenerationRequest, 'prompt' | 'reasoning'> & Partial<Pick<GenerationRequest, 'toolChoice'>>

type PrepareCommand = Extract<Command, { type: 'prepare' }>
type Prepared = Omit<Extract<Report, { type: 'prepared' }>, 'type' | 'id'>

/** A text up to this length is tokenized in one call, which blocks the worker for some ten milliseconds. */
const estimateFromChars = 64 * 1024
const estimateStepChars = 16 * 1024

/**
 * Renders and tokenizes a prompt, and checks that it fits with the requested output. Control tokens come only from
 * the template; in the caller's text they are plain text. Throws `context-length-exceeded` with both numbers, or `template-failed`.
 */
export async function preparePrompt(loaded: WorkerModel, command: PrepareCommand): Promise<Prepared> {
  const startedMs = performance.now()
  const { prompt, maxOutputTokens: outputTokens } = command
  const limits = { contextLength: loaded.context.contextSize, outputTokens }
  const marked = markedPrompt(prompt)
  const rendered = renderSegments(loaded, marked === undefined ? command : { ...command, prompt: marked.prompt })
  const { segments, reasoning } = rendered
  await refuseFarTooLong(loaded.model, segments, limits)
  const placed = marked === undefined ? undefined : await tokenizeWithMedia(loaded, segments, marked)
  const tokens = Uint32Array.from(placed?.tokens ?? promptTokens(loaded.model, prompt, segments))
  if (tokens.length === 0) throw new AppError('invalid-request', 'the prompt is empty: it must have at least one token')
  checkContextFit({ inputTokens: tokens.length, ...limits })
  const templateMs = Math.round(performance.now() - startedMs)
  if (placed !== undefined) refuseUncomputable(placed)
  return {
    tokens,
    ...(placed !== undefined && { slices: placed.slices }),
    ...(loaded.context.forgets &&
      prompt.type === 'chat' && {
        lastMessage: {
          start: lastMessageStartOf(tokens, { rendered, placed, marked }, loaded),
          isOfUser: prompt.messages.at(-1)?.role === 'user',
        },
      }),
    templateMs,
    format: requestFormat(loaded.format, prompt, reasoning === 'open'),
    reasoningFront: reasoningFront(command.reasoning, reasoning, loaded.thinksByDefault),
  }
}

/** The prompt with texts in place of its media; undefined without any. */
export function markedPrompt(prompt: Prompt): MarkedPrompt | undefined {
  return prompt.type === 'chat' && hasMedia(prompt) ? markMedia(prompt, randomHex()) : undefined
}

/** As `tokenizeSegmentsNow`, with media. */
export async function tokenizeWithMedia(
  { model, context, media: store }: Pick<WorkerModel, 'model' | 'context' | 'media'>,
  segments: readonly PromptSegment[],
  { media, marks }: MarkedPrompt,
): Promise<PlacedPrompt> {
  if (store === undefined) throw new Error('a prompt has media, and the model has no projector')
  const placed = await placeMedia(marks.split(segments, media), media, {
    tokenize: (segment, index) => tokenize(model, segment, index),
    store,
    longestPass: context.batchSize,
  })
  const { bos, shouldPrependBosToken } = model.tokens
  return shouldPrependBosToken && bos !== null && placed.tokens[0] !== bos ? withFirst(bos, placed) : placed
}

/** The logits after a medium are not read. */
function refuseUncomputable({ tokens, slices }: PlacedPrompt): void {
  const { start, tokens: count } = slices.at(-1) ?? { start: 0, tokens: 0 }
  if (start + count < tokens.length) return
  throw new AppError(
    'invalid-request',
    'the prompt ends with a picture or a sound: it must end with text, such as the begin of an answer',
  )
}

function promptTokens(model: TokenizingModel, prompt: Prompt, segments: readonly PromptSegment[]): readonly number[] {
  switch (prompt.type) {
    case 'tokens':
      return prompt.tokens
    case 'infill':
      return infillTokens(model, prompt)
    case 'text':
    case 'chat':
      return tokenizeSegmentsNow(model, segments)
  }
}

/** Tokenizes in one call, with the first token that the model's tokenizer adds. */
export function tokenizeSegmentsNow(model: TokenizingModel, segments: readonly PromptSegment[]): number[] {
  const ids = bareTokens(model, segments)
  const { bos, shouldPrependBosToken } = model.tokens
  return shouldPrependBosToken && bos !== null && ids[0] !== bos ? [bos, ...ids] : ids
}

/** The tokens of the text, without any that the tokenizer adds. */
export function bareTokens(model: TokenizingModel, segments: readonly PromptSegment[]): number[] {
  return segments.flatMap((segment, index) => tokenize(model, segment, index))
}

type RenderedTokens = {
  readonly rendered: Rendered
  readonly placed: PlacedPrompt | undefined
  readonly marked: MarkedPrompt | undefined
}

/** The tokens in front of the last message, where the template shows where it begins. */
function lastMessageStartOf(
  tokens: Uint32Array,
  { rendered: { traced }, placed, marked }: RenderedTokens,
  { model, vocabulary }: Pick<WorkerModel, 'model' | 'vocabulary'>,
): number | undefined {
  const bytes = traced === undefined ? undefined : lastMessageStart(traced, vocabulary.controlTexts)
  if (bytes === undefined) return undefined
  const { bos, shouldPrependBosToken } = model.tokens
  let left = bytes
  const end = tokens.findIndex((token, index) => {
    // The tokenizer may have added it in front of the text.
    if (index === 0 && shouldPrependBosToken && token === bos) return false
    const medium = placed?.media.find(({ start, tokens: count }) => index >= start && index < start + count)
    if (medium !== undefined) {
      if (index === medium.start) left -= marked?.marks.of(medium.index).length ?? 0
      return left < 0
    }
    const { length } = vocabulary.bytesOf(token as Token)
    // Control tokens are visible in the prompt, but not in outputs.
    left -= length > 0 ? length : Buffer.byteLength(model.detokenize([token as Token], true))
    return left < 0
  })
  return Math.max(0, end)
}

type Rendered = {
  readonly segments: readonly PromptSegment[]
  readonly reasoning: ReasoningAtEnd
  /** The text of a conversation, with the origin of its characters. */
  readonly traced?: string
}

/** A prompt's text, split by whether control tokens are parsed. Throws `template-failed`. */
export function renderSegments(
  { vocabulary, template, format }: Pick<WorkerModel, 'vocabulary' | 'template' | 'format'>,
  { prompt, reasoning, toolChoice }: PromptRequest,
): Rendered {
  switch (prompt.type) {
    case 'tokens':
      return { segments: [], reasoning: 'untouched' }
    case 'infill':
      return { segments: [prompt.prefix, prompt.suffix].map((text) => ({ text, literal: true })), reasoning: 'untouched' }
    case 'text':
      return { segments: [{ text: prompt.text, literal: prompt.readsControlTokens !== true }], reasoning: 'untouched' }
    case 'chat': {
      const rendered = template().render(prompt, { reasoning, ...(toolChoice !== undefined && { toolChoice }) })
      return {
        segments: splitPrompt(rendered.traced, vocabulary.controlTexts),
        traced: rendered.traced,
        reasoning: reasoningAtEnd(rendered, prompt, format.reasoning),
      }
    }
  }
}

function tokenize(model: TokenizingModel, { text, literal }: PromptSegment, index: number): number[] {
  // Tokenizers that add a space in front of a text must do it only once, at the start of the prompt.
  return model.tokenize(text, !literal, index === 0 ? undefined : 'trimLeadingSpace')
}

/**
 * Tokenizing megabytes of prompt in one call would block the worker for seconds. A long text is read in steps, with other work in
 * between, until it certainly does not fit. Splitting adds a token or two at each step, so a text near the limit is left to the exact
 * count.
 */
async function refuseFarTooLong(
  model: TokenizingModel,
  segments: readonly PromptSegment[],
  limits: { contextLength: number; outputTokens: number | undefined },
): Promise<void> {
  const text = segments.length === 1 ? (segments[0]?.text ?? '') : segments.map((segment) => segment.text).join('')
  if (text.length <= estimateFromChars) return
  const enough = limits.contextLength * 1.1 + 100
  let count = 0
  for (let from = 0; from < text.length; from += estimateStepChars) {
    count += model.tokenize(text.slice(from, from + estimateStepChars), true).length
    const readChars = Math.min(text.length, from + estimateStepChars)
    if (count > enough) {
      const inputTokens = Math.round((count / readChars) * text.length)
      checkContextFit({ inputTokens, estimated: true, ...limits })
    }
    await nextTurn()
  }
}
