import { AppError } from './errors.ts'
import type { GenerationEvent } from './event.ts'

/**
 * The contract of every event stream. Before the first event a failure throws, and so becomes a real status; after it, a
 * failure is one last `error` event. A stream that ends without `usage` or `error` has failed.
 */
export async function* seal(events: AsyncIterable<GenerationEvent>): AsyncGenerator<GenerationEvent, void, void> {
  let state: 'waiting' | 'open' | 'ended' = 'waiting'
  try {
    for await (const event of events) {
      if (state === 'waiting' && event.type === 'error') throw event.error
      state = event.type === 'usage' || event.type === 'error' ? 'ended' : 'open'
      yield event
      if (state === 'ended') return
    }
    throw new AppError('engine-failed', 'the engine ended its stream without saying how it finished; try again')
  } catch (error) {
    if (state === 'waiting') throw AppError.from(error)
    if (state === 'open') yield { type: 'error', error: AppError.from(error) }
    // 'ended': the reply is complete, and a failure to clean up after it is not the caller's.
  }
}
