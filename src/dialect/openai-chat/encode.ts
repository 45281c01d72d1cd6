import type { FinishReason } from '../../contract/event.ts'
import type { Choice, GenerationResult } from '../../contract/result.ts'
import { encodeUsage } from '../openai/encode-usage.ts'
import type { ReplyHead } from '../openai/reply-head.ts'
import { encodeLogprobs } from './encode-logprobs.ts'

/** Under which names the reply shows how the model reasoned: clients look for one or the other. */
export type ReasoningFields = 'both' | 'reasoning_content' | 'reasoning' | 'none'

/** How the caller wants to be answered. */
export type ReplyStyle = {
  readonly reasoningFields: ReasoningFields
  /** A call is told as the deprecated `function_call`. */
  readonly legacyCalls: boolean
  /** Log-probabilities were asked for. */
  readonly logprobs: boolean
}

const finishReasons: Readonly<Record<FinishReason, string>> = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'tool_calls',
  'content-filter': 'content_filter',
}

/** OpenAI's word for why a choice ended. */
export function encodeFinishReason(reason: FinishReason, legacyCalls: boolean): string {
  return legacyCalls && reason === 'tool-calls' ? 'function_call' : finishReasons[reason]
}

/** The names that reasoning is told under. */
export const reasoningNames: Readonly<Record<ReasoningFields, readonly string[]>> = {
  both: ['reasoning_content', 'reasoning'],
  reasoning_content: ['reasoning_content'],
  reasoning: ['reasoning'],
  none: [],
}

/** A whole reply: OpenAI's `chat.completion`. */
export function encodeResult({ choices, usage }: GenerationResult, head: ReplyHead, style: ReplyStyle): unknown {
  return {
    id: head.id,
    object: 'chat.completion',
    created: head.createdSeconds,
    model: head.model,
    system_fingerprint: head.systemFingerprint,
    choices: choices.map((choice, index) => ({
      index,
      message: encodeMessage(choice, style),
      logprobs: style.logprobs ? encodeLogprobs(choice.tokens) : null,
      finish_reason: encodeFinishReason(choice.finish.reason, style.legacyCalls),
      // As vLLM has it; OpenAI does not say which text it was.
      ...(choice.finish.stopSequence !== undefined && { stop_reason: choice.finish.stopSequence }),
    })),
    usage: encodeUsage(usage),
  }
}

function encodeMessage({ text, reasoning, toolCalls }: Choice, { reasoningFields, legacyCalls }: ReplyStyle): unknown {
  const names = reasoning === '' ? [] : reasoningNames[reasoningFields]
  return {
    role: 'assistant',
    content: text === '' && toolCalls.length > 0 ? null : text,
    refusal: null,
    ...Object.fromEntries(names.map((name) => [name, reasoning])),
    ...(toolCalls.length > 0 && (legacyCalls ? encodeLegacyCall(toolCalls) : { tool_calls: toolCalls.map(encodeToolCall) })),
  }
}

type ToolCall = Choice['toolCalls'][number]

function encodeToolCall({ id, name, arguments: text }: ToolCall) {
  return { id, type: 'function', function: { name, arguments: text } }
}

/** There is one: the request was decoded to allow no more. */
function encodeLegacyCall([call]: readonly ToolCall[]) {
  return call === undefined ? {} : { function_call: { name: call.name, arguments: call.arguments } }
}
