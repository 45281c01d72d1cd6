import type { JsonObject } from '../../../contract/request.ts'

/** Emits an event of the stream; the encoder adds its `sequence_number`. */
export type Send = (type: string, fields: JsonObject) => void

/** An item that grows; its id and its index never change. */
export type OutputItem = {
  readonly id: string
  /** The item as it stands now, on the wire. */
  toJson(): JsonObject
  /** Ends it, with the events of its end; once. `incomplete`: the reply was truncated here. */
  close(status: 'completed' | 'incomplete'): void
}

/** Where an item sends its events, and what is added to each of them. */
export type Emitter = { readonly send: Send; readonly outputIndex: number }
