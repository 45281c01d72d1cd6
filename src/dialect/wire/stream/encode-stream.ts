import type { StreamEncoder } from '../../../contract/dialect.ts'
import type { EventOf, GenerationEvent } from '../../../contract/event.ts'

type EventType = GenerationEvent['type']

/** Events that most protocols have nothing for. The compiler asks each encoder for all others, so for a new type of event, too. */
type Optional =
  | 'prompt-progress'
  | 'prompt-read'
  | 'prompt-tokens'
  | `${'text' | 'reasoning' | 'refusal' | 'server-tool'}-${'start' | 'end'}`
  | 'annotation'
  | 'mcp-tools'
  | 'approval-request'

type Handlers<Types extends EventType, Result> = { readonly [Type in Types]: (event: EventOf<Type>) => Result }

/** What happens with each type of event. */
type EventHandlers<Result> = Handlers<Exclude<EventType, Optional>, Result> & Partial<Handlers<Optional, Result>>

/** Gives each event to its handler; one without a handler goes to `otherwise`. */
export function handleEvents<Result>(
  handlers: EventHandlers<Result>,
  otherwise: (event: EventOf<Optional>) => Result,
): (event: GenerationEvent) => Result {
  const byType = handlers as Partial<Record<EventType, (event: GenerationEvent) => Result>>
  return (event) => (byType[event.type] ?? (otherwise as (event: GenerationEvent) => Result))(event)
}

/** An encoder that sends the texts that the handlers return. */
export function encodeStream(
  handlers: EventHandlers<string | undefined>,
  otherwise: (event: EventOf<Optional>) => string | undefined = nothing,
): StreamEncoder {
  const handle = handleEvents(handlers, otherwise)
  return { encode: (event) => handle(event) ?? '' }
}

/** The handler of an event that a protocol leaves out. */
export const nothing = (): undefined => undefined

/** The handlers of a protocol without tools. */
export const withoutCalls = { 'tool-call-start': nothing, 'tool-call-delta': nothing, 'tool-call-end': nothing }

type Delta = EventOf<'text-delta'>

/** The handlers of a protocol that has one kind of text. */
export function allText(handle: (event: Delta) => string) {
  return { 'text-delta': handle, 'reasoning-delta': handle, 'refusal-delta': handle }
}
