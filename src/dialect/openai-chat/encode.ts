import { callsOf, reasoningOf, refusalOf, textOf } from '../../canonical/parts.ts'
import type { FinishReason, GeneratedToken, StartEvent } from '../../contract/event.ts'
import type { Annotation, JsonObject, ToolCallPart } from '../../contract/request.ts'
import type { Choice, GenerationResult, ReplyPart } from '../../contract/result.ts'
import { encodeUsage } from '../openai/encode-usage.ts'
import { encodePromptLogprobs } from '../openai/logprobs/prompt-logprobs.ts'
import { toWireLogprob } from '../openai/logprobs/wire-logprob.ts'
import type { ReplyHead } from '../openai/reply-head.ts'
import { encodeTimings, type UsageTimes } from '../openai/times/encode-timings.ts'
import { picturePath } from '../wire/picture-path.ts'
import type { ChatCompletion, ChatFinishReason, ChatLogprobs, ChatMessage } from './replies.ts'

/** The fields in which the reply shows reasoning: clients read one or the other. */
export type ReasoningFields = 'both' | 'reasoning_content' | 'reasoning' | 'none'

export type ReplyStyle = {
  readonly reasoningFields: ReasoningFields
  /** A call is encoded as the deprecated `function_call`. */
  readonly legacyCalls: boolean
  /** The reply contains log-probabilities. */
  readonly logprobs: boolean
  /** … of the prompt, too. */
  readonly promptLogprobs?: boolean
  readonly usageTimes?: readonly UsageTimes[] | undefined
  /** A stream has Unsloth's frames about tools of the server. */
  readonly showsTools?: true
  /** Where the client finds pictures that programs of the reply have made; absent: none run. */
  readonly session?: string
}

/** A truncated answer is never `stop`, which clients read as complete. */
const finishReasons: Readonly<Record<FinishReason, ChatFinishReason>> = {
  stop: 'stop',
  length: 'length',
  'context-full': 'length',
  'tool-calls': 'tool_calls',
  'content-filter': 'content_filter',
  refusal: 'content_filter',
  cancelled: 'length',
  'end-of-message': 'stop',
  paused: 'length',
}

export function encodeFinishReason(reason: FinishReason, legacyCalls: boolean): ChatFinishReason {
  return legacyCalls && reason === 'tool-calls' ? 'function_call' : finishReasons[reason]
}

/**
 * The reply's fields for reasoning. Where a model that reasons says something else they are null, in each chunk: the official Python SDK
 * raises for a field that is absent.
 */
export const reasoningNames: Readonly<Record<ReasoningFields, readonly Extract<keyof ChatMessage, ReasoningFields>[]>> = {
  both: ['reasoning_content', 'reasoning'],
  reasoning_content: ['reasoning_content'],
  reasoning: ['reasoning'],
  none: [],
}

/** A complete reply: OpenAI's `chat.completion`. */
export function encodeResult(
  { start, choices, usage, timings }: GenerationResult,
  head: ReplyHead,
  style: ReplyStyle,
): ChatCompletion {
  return {
    id: head.id,
    object: 'chat.completion',
    created: head.createdSeconds,
    model: head.model,
    system_fingerprint: head.systemFingerprint,
    choices: choices.map((choice, index) => ({
      index,
      message: encodeMessage(choice, style, start),
      logprobs: style.logprobs ? encodeLogprobs(choice.tokens) : null,
      finish_reason: encodeFinishReason(choice.finish.reason, style.legacyCalls),
      // vLLM's field; OpenAI does not report the stop sequence.
      ...(choice.finish.stopSequence !== undefined && { stop_reason: choice.finish.stopSequence }),
    })),
    ...(style.promptLogprobs === true && { prompt_logprobs: encodePromptLogprobs(choices[0]?.promptTokens ?? []) }),
    usage: encodeUsage({ usage, timings }, style.usageTimes),
    timings: encodeTimings({ usage, timings }),
  }
}

/** The parts after the last call of a tool of the server; all parts, if these say nothing. */
function finalParts(parts: readonly ReplyPart[]): readonly ReplyPart[] {
  const last = parts.slice(parts.findLastIndex(({ type }) => type === 'server-tool') + 1)
  return last.some(({ type }) => type === 'text' || type === 'refusal' || type === 'tool-call') ? last : parts
}

function encodeMessage(
  choice: Choice,
  { reasoningFields, legacyCalls, session }: ReplyStyle,
  { reasons }: StartEvent,
): ChatMessage {
  const pictures = session === undefined ? [] : encodePictures(choice.parts, session)
  const parts = finalParts(choice.parts)
  const text = textOf(parts)
  const reasoning = reasoningOf(parts)
  const refusal = refusalOf(parts)
  const calls = callsOf(parts)
  const names = reasoning === '' && reasons !== true ? [] : reasoningNames[reasoningFields]
  const annotations = parts.flatMap((part) => (part.type === 'text' ? (part.annotations ?? []).flatMap(encodeAnnotation) : []))
  return {
    role: 'assistant',
    content: text === '' && (calls.length > 0 || refusal !== '') ? null : text,
    refusal: refusal === '' ? null : refusal,
    ...(annotations.length > 0 && { annotations }),
    ...(pictures.length > 0 && { images: pictures }),
    ...Object.fromEntries(names.map((name) => [name, reasoning === '' ? null : reasoning])),
    ...(calls.length > 0 && (legacyCalls ? encodeLegacyCall(calls) : { tool_calls: calls.map(encodeToolCall) })),
  }
}

/** Pictures that programs have made, as OpenRouter shows those of models. */
function encodePictures(parts: readonly ReplyPart[], session: string): readonly JsonObject[] {
  const names = parts.flatMap((part) => (part.type === 'server-tool' ? (part.outcome?.pictures ?? []) : []))
  return names.map((name) => ({ type: 'image_url', image_url: { url: picturePath(session, name) } }))
}

/** OpenAI's chat protocol has citations of web pages only. */
export function encodeAnnotation(annotation: Annotation): NonNullable<ChatMessage['annotations']> {
  switch (annotation.type) {
    case 'url-citation': {
      const { url, title, startIndex, endIndex } = annotation
      return [
        {
          type: 'url_citation',
          url_citation: { url, title: title ?? '', start_index: startIndex ?? 0, end_index: endIndex ?? 0 },
        },
      ]
    }
    case 'file-citation':
      return []
  }
}

function encodeToolCall({ id, name, input, kind }: ToolCallPart): NonNullable<ChatMessage['tool_calls']>[number] {
  if (kind === 'custom') return { id, type: 'custom', custom: { name, input } }
  return { id, type: 'function', function: { name, arguments: input } }
}

/** There is at most one call: `decode-tools.ts` disables parallel calls. */
function encodeLegacyCall([call]: readonly ToolCallPart[]): Pick<ChatMessage, 'function_call'> {
  return call === undefined ? {} : { function_call: { name: call.name, arguments: call.input } }
}

type ScoredToken = Pick<GeneratedToken, 'id' | 'text' | 'bytes' | 'logprob'>

/** Tokens in the form of OpenAI's chat protocol, with tabbyAPI's `token_id`; `refusal` is for models that refuse in a separate field. */
export function encodeLogprobs(tokens: readonly GeneratedToken[]): ChatLogprobs {
  return { content: tokens.map((token) => ({ ...encodeToken(token), top_logprobs: token.top.map(encodeToken) })), refusal: null }
}

function encodeToken({ id, text, bytes, logprob }: ScoredToken) {
  return { token: text, ...(id >= 0 && { token_id: id }), logprob: toWireLogprob(logprob), bytes }
}
