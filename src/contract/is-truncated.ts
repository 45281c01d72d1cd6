import type { EventOf, FinishReason, StartEvent } from './event.ts'

type Finish = Omit<EventOf<'finish'>, 'type' | 'choice'>

/** Whether an answer with this finish reason may end in the middle of a word, a block or a value. */
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
export function isTruncated({ reason, stopSequence }: Finish): boolean {
  return truncates[reason] || stopSequence !== undefined
}

/** The facts of a generation once its choices have ended: truncated output was not validated. */
export function settledStart(start: StartEvent, finishes: readonly Finish[]): StartEvent {
  return start.structured === 'validated' && finishes.some(isTruncated) ? { ...start, structured: 'partial' } : start
}
