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

/** Those of truncated or refused answers. */
export const incompleteReasons = finishReasons.filter((reason) => !isComplete[reason])
