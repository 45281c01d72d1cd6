import type { FinishReason, GenerationEvent } from './event.ts'

/** Whether an answer that ended so may be in the middle of something. */
const cuts: Readonly<Record<FinishReason, boolean>> = {
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

/** Whether an answer was cut off: what is open in it stays open, and cannot be judged. */
export function wasCut({ reason, stopSequence }: Omit<Extract<GenerationEvent, { type: 'finish' }>, 'type' | 'choice'>): boolean {
  return cuts[reason] || stopSequence !== undefined
}
