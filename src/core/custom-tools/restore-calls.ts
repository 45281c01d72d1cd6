import { type Emit, inTurn } from '../../base/emit.ts'
import type { EventOf, GenerationEvent } from '../../contract/event.ts'
import { InputDecoder } from './input-decoder.ts'

/** Emits calls of functions that represent these custom tools as custom calls, with the text of the input. */
export function restoreCalls(names: ReadonlySet<string>, emit: Emit<GenerationEvent>): Emit<GenerationEvent> {
  const decoders = new Map<string, InputDecoder>()
  return (event) => {
    switch (event.type) {
      case 'tool-call-start':
        if (!names.has(event.name)) {
          // An upstream may give two calls the same id.
          decoders.delete(keyOf(event))
          return emit(event)
        }
        decoders.set(keyOf(event), new InputDecoder())
        return emit({ kind: 'custom', ...event })
      case 'tool-call-delta': {
        const decoder = decoders.get(keyOf(event))
        if (decoder === undefined) return emit(event)
        const delta = decoder.push(event.delta)
        return delta === '' && event.tokens === undefined ? undefined : emit({ ...event, delta })
      }
      case 'tool-call-end': {
        const decoder = decoders.get(keyOf(event))
        if (decoder === undefined) return emit(event)
        decoders.delete(keyOf(event))
        return inTurn(endOf(event, decoder), emit)
      }
      default:
        return emit(event)
    }
  }
}

/** Arguments that a format's parser repaired may need no further repair. */
function endOf({ choice, id, state, raw }: EventOf<'tool-call-end'>, decoder: InputDecoder): GenerationEvent[] {
  const end = decoder.end()
  const judged = end.state ?? state
  const source = raw ?? end.raw
  return [
    ...(end.delta === '' ? [] : [{ type: 'tool-call-delta', choice, id, delta: end.delta } as const]),
    {
      type: 'tool-call-end',
      choice,
      id,
      ...(judged !== undefined && { state: judged, ...(source !== undefined && { raw: source }) }),
    },
  ]
}

function keyOf({ choice, id }: { readonly choice: number; readonly id: string }): string {
  return `${choice} ${id}`
}
