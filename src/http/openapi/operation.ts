import type { z } from 'zod'
import type { Field } from '../../dialect/wire/field-table.ts'

/** The body of a request: the schema that validates it, and what its fields mean. */
export type Body = {
  /** Its name among the schemas of the document. */
  readonly name: string
  readonly schema: z.ZodType
  readonly fields?: readonly Field[]
  /** The required fields that a request may leave out all the same: the server fills them in, as the name of its default model. */
  readonly filledIn?: readonly string[]
  readonly isOptional?: true
  /** Absent: JSON. */
  readonly isForm?: true
}

/** What a route answers: JSON of this schema, something of other types, or nothing. */
export type Reply = z.ZodType | { readonly types: readonly string[] } | 'empty'

/** How a route streams: each event or line is JSON of this schema. */
export type Stream = { readonly type: 'text/event-stream' | 'application/x-ndjson'; readonly each: z.ZodType }

/** What the document says of a route besides what the route table knows. */
export type Operation = {
  readonly title: string
  /** Other paths that are the same. */
  readonly also?: readonly string[]
  readonly body?: Body
  readonly query?: z.ZodObject
  /** Absent: the route only streams. */
  readonly reply?: Reply
  /** Absent: 200. */
  readonly statuses?: readonly number[]
  readonly stream?: Stream
  /** A body, which tests send; what names a model there is the id `MODEL`. */
  readonly example?: object
}

/** Operations by method and path. */
export type Operations = Readonly<Record<string, Operation>>

/** The operations of one protocol. */
export type Chapter = { readonly tag: string; readonly about: string; readonly operations: Operations }

export const sse = (each: z.ZodType): Stream => ({ type: 'text/event-stream', each })
export const lines = (each: z.ZodType): Stream => ({ type: 'application/x-ndjson', each })
