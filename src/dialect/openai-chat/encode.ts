import type { FinishReason, Usage } from '../../core/event.ts'
import type { Choice, GenerationResult } from '../../core/result.ts'

/** What every reply and chunk of one request has in common. `createdSeconds` is Unix time. */
export type ReplyHead = {
  readonly id: string
  readonly createdSeconds: number
  readonly model: string
  readonly systemFingerprint: string
}

export const finishReasons: Readonly<Record<FinishReason, string>> = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'tool_calls',
  'content-filter': 'content_filter',
}

/** A whole reply: OpenAI's `chat.completion`, with both common spellings of reasoning when there is any. */
export function encodeResult({ choices, usage }: GenerationResult, head: ReplyHead): unknown {
  return {
    id: head.id,
    object: 'chat.completion',
    created: head.createdSeconds,
    model: head.model,
    system_fingerprint: head.systemFingerprint,
    choices: choices.map((choice, index) => ({
      index,
      message: encodeMessage(choice),
      logprobs: null,
      finish_reason: finishReasons[choice.finish.reason],
    })),
    usage: encodeUsage(usage),
  }
}

/** OpenAI's usage object. */
export function encodeUsage({ inputTokens, cachedInputTokens, outputTokens, reasoningTokens }: Usage): unknown {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cachedInputTokens },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  }
}

function encodeMessage({ text, reasoning, toolCalls }: Choice): unknown {
  return {
    role: 'assistant',
    content: text === '' && toolCalls.length > 0 ? null : text,
    refusal: null,
    ...(reasoning !== '' && { reasoning_content: reasoning, reasoning }),
    ...(toolCalls.length > 0 && {
      tool_calls: toolCalls.map(({ id, name, arguments: text }) => ({
        id,
        type: 'function',
        function: { name, arguments: text },
      })),
    }),
  }
}
