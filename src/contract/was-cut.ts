import type { GenerationEvent } from './event.ts'

/** Whether an answer was cut off: what is open in it stays open, and cannot be judged. */
export function wasCut({ reason, stopSequence }: Omit<Extract<GenerationEvent, { type: 'finish' }>, 'type' | 'choice'>): boolean {
  return reason === 'length' || reason === 'content-filter' || stopSequence !== undefined
}
