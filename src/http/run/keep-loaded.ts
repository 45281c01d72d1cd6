import type { KeepLoaded } from '../../contract/dialect.ts'
import type { Principal } from '../../contract/principal.ts'
import type { ServedModel } from '../../contract/served-model.ts'

/** Applies a request's wish about how long its model stays loaded: only a key with the scope `admin` decides about that. */
export function keepLoaded(wish: KeepLoaded | undefined, { scopes }: Principal) {
  const isAllowed = scopes.has('admin')
  return {
    isAllowed,
    /** The fields without an effect. */
    ignored: wish === undefined || isAllowed ? [] : [wish.field],
    /** Call it when the request no longer uses the model. */
    keep(model: ServedModel): void {
      if (wish !== undefined && isAllowed) model.resident?.keepFor(wish.ms)
    },
  }
}
