import { AppError } from '../../../contract/errors.ts'
import type { FinishReason } from '../../../contract/event.ts'

/** What servers call the end of an answer. One table for every path. */
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
  content_filter: 'content-filter',
}

/** Words for an answer that did not come to its end. */
const failures = new Set(['abort', 'aborted', 'error', 'cancelled', 'canceled', 'timeout', 'insufficient_system_resource'])

export type ReadFinish = { readonly reason: FinishReason; readonly rawReason?: string }

/** Why a choice ended; an unknown word is kept. Throws `engine-failed` for one that says that the answer was broken off. */
export function readFinishReason(word: string): ReadFinish {
  const reason = Object.hasOwn(reasons, word) ? reasons[word] : undefined
  if (reason !== undefined) return { reason }
  if (failures.has(word)) {
    throw new AppError('engine-failed', `the server behind this model broke the answer off: its finish reason is '${word}'`)
  }
  return { reason: 'stop', rawReason: word }
}
