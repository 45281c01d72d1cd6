import type { FinishReason, GenerationEvent } from './event.ts'

/** Whether an answer with this finish reason may end in the middle of something. */
const truncates: Readonly<Record<FinishReason, boolean>> = {
  stop: false,
  'tool-calls': false,
  'end-of-message': false,
  length: true,
  'context-full': true,
  'content-filter': true,
  refusal: true,
  cancelled: true,
  paused: true,
}

/** Whether an answer may be truncated: open blocks stay open, and partial JSON cannot be validated. */
export function isTruncated({
  reason,
  stopSequence,
}: Omit<Extract<GenerationEvent, { type: 'finish' }>, 'type' | 'choice'>): boolean {
  return truncates[reason] || stopSequence !== undefined
}
