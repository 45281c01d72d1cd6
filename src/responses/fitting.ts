import type { Emit } from '../base/emit.ts'
import type { RequestContext } from '../contract/context.ts'
import { AppError } from '../contract/errors.ts'
import type { GenerationEvent } from '../contract/event.ts'
import type { GenerationRecord } from '../contract/usage.ts'
import { holdingStart } from '../core/other-models/hold-start.ts'
import type { Shortening } from '../core/prepare-fitting.ts'
import { answer } from '../core/tool-loop/answer.ts'
import type { AnswerDeps } from '../core/tool-loop/deps.ts'
import type { DecodedResponse } from '../dialect/openai-responses/decode.ts'

/**
 * Turns are dropped one by one, but from the eighth on several at a time, so that a long history takes few attempts: at most an eighth too
 * many are dropped.
 */
const maxExcess = 8
/** Turns are dropped until the output has the room that it asks for, or this share of the context. */
const leastRoom = 0.25

type FittingRun = {
  readonly context: RequestContext
  readonly emit: Emit<GenerationEvent>
  /** Called before the first event with the ids of the items that the model does not see. */
  onDropped(ids: readonly string[]): void
}

/**
 * Generates; with `truncation: auto`, drops the oldest turns if the context has no room for them. Rejects like `generate`, with
 * `context-length-exceeded` when nothing is left to drop.
 */
export async function generateFitting(deps: AnswerDeps, decoded: DecodedResponse, run: FittingRun): Promise<void> {
  if (decoded.truncation === 'disabled') return answer(deps, [decoded.request], run.context).run(run.emit)
  // A shortened request is one generation in the records.
  let refused: GenerationRecord | undefined
  const record = (last: GenerationRecord) => {
    refused = last.outcome === 'context-length-exceeded' ? last : undefined
    if (refused === undefined) deps.record?.(last)
  }
  const recording: AnswerDeps = { ...deps, record }
  let shortening: Shortening = { leastRoom }
  try {
    let dropped = 0
    for (let current = decoded; ; ) {
      try {
        // An upstream may refuse a prompt after the start.
        return await answer({ ...recording, ...shortening }, [current.request], run.context).run(holdingStart(run.emit))
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== 'context-length-exceeded') throw error
        dropped += Math.max(1, Math.floor(dropped / maxExcess))
        const shorter = decoded.withoutOldest(dropped)
        if (shorter !== undefined) {
          current = shorter.decoded
          run.onDropped(shorter.dropped)
        } else if (shortening.leastRoom !== undefined) shortening = {}
        else throw error
      }
    }
  } finally {
    if (refused !== undefined) deps.record?.(refused)
  }
}
