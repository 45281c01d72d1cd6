import type { Emit } from '../../base/emit.ts'
import type { GenerationEvent } from '../../contract/event.ts'

/** Holds a `start` until the next event: a run that fails in between may be repeated, and its reader must see only one `start`. */
export function holdingStart(emit: Emit<GenerationEvent>): Emit<GenerationEvent> {
  let held: GenerationEvent | undefined
  return (event) => {
    if (event.type === 'start') {
      held = event
      return undefined
    }
    const start = held
    if (start === undefined) return emit(event)
    held = undefined
    const starting = emit(start)
    return starting === undefined ? emit(event) : starting.then(() => emit(event))
  }
}
