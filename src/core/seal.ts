import type { Emit } from '../contract/emit.ts'
import { AppError } from '../contract/errors.ts'
import type { GenerationEvent } from '../contract/event.ts'

/**
 * Enforces the contract of every generation: a failure before the first event after `start` rejects, so that it can become an HTTP
 * status; later, it is a final `error` event. A run that ends without `usage` or `error` has failed; later events are dropped.
 */
export async function seal(run: (emit: Emit<GenerationEvent>) => Promise<void>, emit: Emit<GenerationEvent>): Promise<void> {
  let state = 'waiting' as 'waiting' | 'open' | 'ended'
  try {
    await run((event) => {
      if (state === 'ended') return undefined
      if (event.type === 'error') throw event.error
      if (event.type === 'usage') state = 'ended'
      else if (event.type !== 'start') state = 'open'
      return emit(event)
    })
    if (state !== 'ended')
      throw new AppError('engine-failed', 'the engine ended its stream without saying how it finished; try again')
  } catch (error) {
    if (state === 'waiting') throw AppError.from(error)
    // 'ended': the reply is complete; a failed cleanup does not concern the caller.
    if (state === 'open') await emit({ type: 'error', error: AppError.from(error) })
  }
}
