import { callsOf, reasoningOf, refusalOf, textOf } from '../../canonical/parts.ts'
import type { FinishReason, GeneratedToken, StartEvent, Timings, Usage } from '../../contract/event.ts'
import type { GenerationResult, ReplyPart } from '../../contract/result.ts'
import { toWireLogprob } from '../openai/logprobs/wire-logprob.ts'
import { callObject, withoutCutCall } from '../wire/call-input.ts'
import type { OllamaReply, WireCall, WirePiece } from './replies.ts'
import type { ReplyStyle } from './style.ts'

/** A truncated answer never maps to one that stopped by itself. */
const doneReasons: Readonly<Record<FinishReason, 'stop' | 'length'>> = {
  stop: 'stop',
  length: 'length',
  'context-full': 'length',
  'tool-calls': 'stop',
  'content-filter': 'length',
  refusal: 'stop',
  cancelled: 'length',
  'end-of-message': 'stop',
  paused: 'length',
}

export function encodeDoneReason(reason: FinishReason, { isEmpty }: Pick<ReplyStyle, 'isEmpty'>): string {
  return isEmpty ? 'length' : doneReasons[reason]
}

/** Replies repeat the caller's name for the model, unless another model serves. */
export function styleOf({ model, insteadOf }: StartEvent, asked: ReplyStyle): ReplyStyle {
  return insteadOf === undefined ? asked : { ...asked, model }
}

/** The time of the epoch. */
export type Clock = { wallMs(): number }

/** One piece of a reply, or all of it. */
export type Piece = {
  readonly text?: string
  readonly thinking?: string
  readonly calls?: readonly WireCall[]
  readonly tokens?: readonly GeneratedToken[]
}

export function encodeCall(
  { id, name, input }: { readonly id: string; readonly name: string; readonly input: string },
  index: number,
): WireCall {
  return { id, function: { index, name, arguments: callObject(name, input) } }
}

/** The fields of pieces and whole replies. */
export function encodePiece(
  { text = '', thinking = '', calls = [], tokens = [] }: Piece,
  { model, form }: ReplyStyle,
  atMs: number,
): WirePiece {
  const logprobs = tokens.length === 0 ? {} : { logprobs: tokens.map(encodeToken) }
  const head = { model, created_at: new Date(atMs).toISOString() }
  const thought = thinking === '' ? {} : { thinking }
  if (form !== 'chat') return { ...head, response: text, ...thought, ...logprobs }
  return {
    ...head,
    message: { role: 'assistant', content: text, ...thought, ...(calls.length > 0 && { tool_calls: calls }) },
    ...logprobs,
  }
}

/** A reply to `/api/chat` or `/api/generate` that is not streamed. */
export function encodeResult({ start, choices, usage, timings }: GenerationResult, asked: ReplyStyle, clock: Clock): OllamaReply {
  const style = styleOf(start, asked)
  const [choice] = choices
  if (choice === undefined) throw new Error('a reply needs one choice')
  const { finish, tokens } = choice
  return {
    ...encodePiece(style.isEmpty ? {} : { ...shownOf(withoutCutCall(choice), style), tokens }, style, clock.wallMs()),
    done: true,
    done_reason: encodeDoneReason(finish.reason, style),
    ...encodeTotals({ usage, timings }),
  }
}

function shownOf(parts: readonly ReplyPart[], { form }: ReplyStyle): Piece {
  // A continued text does not separate its thinking.
  if (form === 'raw') return { text: parts.map((part) => ('text' in part ? part.text : '')).join('') }
  return { text: textOf(parts) + refusalOf(parts), thinking: reasoningOf(parts), calls: callsOf(parts).map(encodeCall) }
}

function encodeToken({ text, bytes, logprob, top }: GeneratedToken) {
  const one = (token: Pick<GeneratedToken, 'text' | 'bytes' | 'logprob'>) => ({
    token: token.text,
    logprob: toWireLogprob(token.logprob),
    bytes: token.bytes,
  })
  return { ...one({ text, bytes, logprob }), ...(top.length > 0 && { top_logprobs: top.map(one) }) }
}

/** Counts, and durations in nanoseconds. Clients divide one by the other: a count above 0 gets a duration above 0. */
export function encodeTotals({ usage, timings }: { readonly usage: Usage; readonly timings: Timings }) {
  const { loadMs = 0, prefillMs = 0, decodeMs = 0, totalMs = 0 } = timings
  return {
    total_duration: toNanoseconds(totalMs, 1),
    load_duration: toNanoseconds(loadMs, 0),
    prompt_eval_count: usage.inputTokens,
    prompt_eval_duration: toNanoseconds(prefillMs, usage.inputTokens),
    eval_count: usage.outputTokens,
    eval_duration: toNanoseconds(decodeMs, usage.outputTokens),
  }
}

function toNanoseconds(ms: number, count: number): number {
  return Math.max(count > 0 ? 1 : 0, Math.round(ms * 1e6))
}

/** The reply to a request that loads or unloads a model. */
export function encodeResidence(reason: 'load' | 'unload', style: ReplyStyle, atMs: number): OllamaReply {
  return { ...encodePiece({}, style, atMs), done: true, done_reason: reason }
}
