import { parseObject } from '../../base/json.ts'
import { callsOf, refusalOf, textOf } from '../../canonical/parts.ts'
import type { FinishReason, GeneratedToken, Usage } from '../../contract/event.ts'
import type { ToolCallPart } from '../../contract/request.ts'
import type { Choice, GenerationResult } from '../../contract/result.ts'
import type {
  BatchChat,
  BatchCompletion,
  StackCall,
  StackChat,
  StackChats,
  StackCompletion,
  StackCompletions,
  StackStopReason,
} from './replies.ts'

/** The only table of stop reasons. A truncated answer never maps to the end of a turn, which clients read as complete. */
const stopReasons: Readonly<Record<FinishReason, StackStopReason>> = {
  stop: 'end_of_turn',
  length: 'out_of_tokens',
  'context-full': 'out_of_tokens',
  // The turn continues when the tool has answered.
  'tool-calls': 'end_of_message',
  'content-filter': 'out_of_tokens',
  // A refusal is the whole answer.
  refusal: 'end_of_turn',
  cancelled: 'out_of_tokens',
  'end-of-message': 'end_of_message',
  paused: 'end_of_message',
}

export function encodeStopReason(reason: FinishReason): StackStopReason {
  return stopReasons[reason]
}

export function encodeChat({ choices, usage }: GenerationResult): StackChat {
  const [choice] = choices
  if (choice === undefined) throw new Error('a reply needs one choice')
  return Object.assign(encodeMessage(choice), { metrics: encodeMetrics(usage) })
}

/** A reply to a batch of conversations. The engine counts tokens only for all of them together. */
export function encodeBatchChat({ choices }: GenerationResult): StackChats {
  return { batch: choices.map(encodeMessage) }
}

export function encodeCompletion({ choices, usage }: GenerationResult): StackCompletion {
  const [choice] = choices
  if (choice === undefined) throw new Error('a reply needs one choice')
  return Object.assign(encodeText(choice), { metrics: encodeMetrics(usage) })
}

export function encodeBatchCompletion({ choices }: GenerationResult): StackCompletions {
  return { batch: choices.map(encodeText) }
}

/** Reasoning has no place in this protocol. */
function encodeMessage({ parts, finish, tokens }: Choice): BatchChat {
  return {
    completion_message: {
      role: 'assistant',
      content: textOf(parts) + refusalOf(parts),
      stop_reason: stopReasons[finish.reason],
      tool_calls: callsOf(parts).map(encodeCall),
    },
    ...encodeLogprobs(tokens),
  }
}

function encodeText({ parts, finish, tokens }: Choice): BatchCompletion {
  return { content: textOf(parts), stop_reason: stopReasons[finish.reason], ...encodeLogprobs(tokens) }
}

/** A call with its arguments as values, and as the JSON that the model wrote. Other JSON stays a string. */
export function encodeCall({ id, name, input }: Pick<ToolCallPart, 'id' | 'name' | 'input'>): StackCall {
  const json = input === '' ? '{}' : input
  return { call_id: id, tool_name: name, arguments: parseObject(json) ?? json, arguments_json: json }
}

/** The sampled token of each position, and the most probable ones; nothing unless requested. */
export function encodeLogprobs(tokens: readonly GeneratedToken[] | undefined): Pick<BatchChat, 'logprobs'> {
  if (tokens === undefined || tokens.length === 0) return {}
  return {
    logprobs: tokens.map(({ text, logprob, top }) => ({
      // The sampled token comes last, so that its value wins over another token with the same text.
      logprobs_by_token: Object.fromEntries([...top.map((other) => [other.text, other.logprob] as const), [text, logprob]]),
    })),
  }
}

/** llama-stack's counts, and the cached part of the prompt, for which it has no name. */
export function encodeMetrics({ inputTokens, cachedInputTokens, outputTokens }: Usage): StackChat['metrics'] {
  const count = (metric: string, value: number) => ({ metric, value, unit: 'tokens' })
  return [
    count('prompt_tokens', inputTokens),
    count('completion_tokens', outputTokens),
    count('total_tokens', inputTokens + outputTokens),
    count('cached_prompt_tokens', cachedInputTokens),
  ]
}
