import type { JsonObject } from '../../contract/request.ts'

/** A schema, and the document that its references point into, where it is only a part of one. */
type PlacedSchema = { readonly schema: JsonObject | boolean; readonly document?: JsonObject }

/** A piece of a forced call: text as it stands, or a value. */
export type ForcedPiece =
  | { readonly type: 'text'; readonly text: string }
  /** JSON that satisfies the schema. */
  | ({ readonly type: 'json' } & PlacedSchema)
  /** JSON that satisfies the schema, but texts without quotes; in those is not `before`, the mark that follows. */
  | ({ readonly type: 'raw-text'; readonly before: string } & PlacedSchema)
  /** The pieces in order, or nothing: a parameter that need not be given. */
  | { readonly type: 'optional'; readonly pieces: readonly ForcedPiece[] }
  /** Which call of the answer it is; the first one has this number. */
  | { readonly type: 'position'; readonly first: number }

export type ForcedCall = {
  readonly name: string
  readonly pieces: readonly ForcedPiece[]
  /** Keywords of the tool's parameters that the pieces do not keep. */
  readonly unkept?: readonly string[]
}

/** How calls look when nothing but calls may be written: one of `calls`, or several with `separator` between them. */
export type ForcedCalls = {
  readonly prefix: string
  readonly calls: readonly ForcedCall[]
  /** Between two calls; absent when only one is allowed. */
  readonly separator?: string
  readonly suffix: string
}
