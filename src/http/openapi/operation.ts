import type { z } from 'zod'
import type { Field } from '../../dialect/wire/field-table.ts'

/** The body of a request: the schema that validates it, and the meaning of its fields. */
export type Body = {
  /** Its name among the schemas of the document. */
  readonly name: string
  readonly schema: z.ZodType
  readonly fields?: readonly Field[]
  /** Required fields that a request may omit: the server fills them in, for example with its default model. */
  readonly filledIn?: readonly string[]
  readonly isOptional?: true
  /** Absent: JSON. */
  readonly isForm?: true
}

/** The reply of a route: JSON of this schema, something of other types, or nothing. */
export type Reply = z.ZodType | { readonly types: readonly string[] } | 'empty'

/** The stream of a route: each event or line is JSON of this schema. */
export type Stream = {
  readonly type: 'text/event-stream' | 'application/x-ndjson' | 'application/x-jsonl'
  readonly each: z.ZodType
}

/** The description of a route, beyond the facts of the route table. */
export type Operation = {
  readonly title: string
  /** Other paths of the same route. */
  readonly also?: readonly string[]
  readonly body?: Body
  readonly query?: z.ZodObject
  /** Absent: the route only streams. */
  readonly reply?: Reply
  /** Absent: 200. */
  readonly statuses?: readonly number[]
  /** The status of replies without a body. */
  readonly emptyStatus?: number
  readonly stream?: Stream
  /** An example body, which tests send; in it, the id `MODEL` names a model, `FILE` a file of requests. */
  readonly example?: object
}

/** Operations by method and path. */
export type Operations = Readonly<Record<string, Operation>>

export type Chapter = { readonly tag: string; readonly about: string; readonly operations: Operations }

export const sse = (each: z.ZodType): Stream => ({ type: 'text/event-stream', each })
export const lines = (each: z.ZodType): Stream => ({ type: 'application/x-ndjson', each })
