import type { FinishReason } from '../../src/contract/event.ts'

const isComplete: Readonly<Record<FinishReason, boolean>> = {
  stop: true,
  'tool-calls': true,
  'end-of-message': true,
  length: false,
  'context-full': false,
  'content-filter': false,
  refusal: false,
  cancelled: false,
  paused: false,
}

export const finishReasons = Object.keys(isComplete) as readonly FinishReason[]

/** Those of answers that are not all that the model would have said. */
export const incompleteReasons = finishReasons.filter((reason) => !isComplete[reason])
