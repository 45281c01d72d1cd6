import { AppError } from '../../../contract/errors.ts'
import type { FinishReason } from '../../../contract/event.ts'

/** The finish reasons of all servers. */
const reasons: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  eos: 'stop',
  eos_token: 'stop',
  eom: 'stop',
  end_turn: 'stop',
  stop_sequence: 'stop',
  length: 'length',
  max_tokens: 'length',
  model_length: 'length',
  tool_calls: 'tool-calls',
  function_call: 'tool-calls',
  tool_use: 'tool-calls',
  content_filter: 'content-filter',
  refusal: 'refusal',
  pause_turn: 'paused',
  model_context_window_exceeded: 'context-full',
}

/** Finish reasons of a reply that failed. */
const failures = new Set(['abort', 'aborted', 'error', 'cancelled', 'canceled', 'timeout', 'insufficient_system_resource'])

export type ReadFinish = { readonly reason: FinishReason; readonly rawReason?: string }

/** The finish reason of a choice; an unknown word is kept as `rawReason`. Throws `upstream-failed` for one that reports a failure. */
export function readFinishReason(word: string): ReadFinish {
  const reason = Object.hasOwn(reasons, word) ? reasons[word] : undefined
  if (reason !== undefined) return { reason }
  if (failures.has(word)) {
    throw new AppError('upstream-failed', `the server behind this model broke the answer off: its finish reason is '${word}'`)
  }
  return { reason: 'stop', rawReason: word }
}
