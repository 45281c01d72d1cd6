import type { Emit } from '../base/emit.ts'
import { AppError } from '../contract/errors.ts'
import type { EventOf, FinishReason, GenerationEvent } from '../contract/event.ts'
import type { PromptChange } from '../contract/usage.ts'

/** The last event of a generation, how its choices ended, and how its prompt differs from the turn before. */
type SealedEnd = {
  readonly end: EventOf<'usage' | 'error'>
  readonly finishReasons: readonly FinishReason[]
  readonly diverged: PromptChange | undefined
}

/**
 * Enforces the contract of every generation: a failure before the first event after `start` rejects, so that it can become an HTTP status;
 * later, it is a final `error` event. A run that ends without `usage` or `error` has failed; events after the end are dropped. After an
 * abort, the signal's reason is the failure. Resolves with the last event.
 */
export async function seal(
  run: (emit: Emit<GenerationEvent>) => Promise<void>,
  emit: Emit<GenerationEvent>,
  signal: AbortSignal,
): Promise<SealedEnd> {
  let state = 'waiting' as 'waiting' | 'open'
  let end = undefined as SealedEnd['end'] | undefined
  const finishReasons: FinishReason[] = []
  let diverged: PromptChange | undefined
  try {
    await run((event) => {
      if (end !== undefined) return undefined
      if (event.type === 'error') throw event.error
      if (event.type === 'usage') end = event
      else if (event.type === 'start') diverged = event.diverged
      else {
        state = 'open'
        if (event.type === 'finish') finishReasons.push(event.reason)
      }
      return emit(event)
    })
    if (end === undefined)
      throw new AppError('engine-failed', 'the engine ended its stream without saying how it finished; try again')
    return { end, finishReasons, diverged }
  } catch (error) {
    // The reply is complete; a failed cleanup does not concern the caller.
    if (end !== undefined) return { end, finishReasons, diverged }
    // After an abort, any error of the engine, such as an `AbortError` of its own, is a consequence of it.
    const failure = AppError.from(signal.aborted ? signal.reason : error)
    if (state === 'waiting') throw failure
    const failed: SealedEnd['end'] = { type: 'error', error: failure }
    await emit(failed)
    return { end: failed, finishReasons, diverged }
  }
}
