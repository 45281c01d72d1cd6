import type { DecodedCall } from '../../contract/dialect.ts'
import { AppError } from '../../contract/errors.ts'
import type { GenerationEvent } from '../../contract/event.ts'
import { foldEvents } from '../../contract/result.ts'
import type { Store } from '../../contract/store.ts'
import type { Generation } from '../../core/generate.ts'

type Keeping = {
  readonly store: Store
  readonly toStored: NonNullable<DecodedCall['toStored']>
  readonly owner: string
  /** Called with the store's error: the caller gets the reply all the same. */
  onFailure(error: unknown): void
}

/** Wraps a generation so that its reply is stored before its last event is emitted. A failed one leaves nothing. */
export function keptGeneration({ run }: Generation, { store, toStored, owner, onFailure }: Keeping): Generation {
  return {
    run: async (emit) => {
      let last: GenerationEvent | undefined
      const result = await foldEvents({
        run: (fold) =>
          run((event) => {
            void fold(event)
            if (event.type !== 'usage') return emit(event)
            last = event
            return undefined
          }),
      })
      await store.completions.save({ ...toStored(result), owner }).catch(onFailure)
      if (last !== undefined) await emit(last)
    },
  }
}

/** Throws `unsupported-field` if a call asks to be stored, and nothing is. */
export function refuseWithoutStore({ toStored }: DecodedCall, store: Store | undefined): void {
  if (toStored === undefined || store !== undefined) return
  const message = 'store true needs a store, and this server has none (storage.database is off); leave store out'
  throw new AppError('unsupported-field', message, { param: 'store' })
}
