import type { FunctionTool, JsonObject } from '../../contract/request.ts'

/** A schema, and the document that its references point into, if it is only a part of one. */
type PlacedSchema = { readonly schema: JsonObject | boolean; readonly document?: JsonObject }

/** A piece of a required call: fixed text, or a value. */
export type CallPiece =
  | { readonly type: 'text'; readonly text: string }
  /** JSON that satisfies the schema. */
  | ({ readonly type: 'json' } & PlacedSchema)
  /** JSON that satisfies the schema, except that strings have no quotes; they do not contain `before`, the tag that follows. */
  | ({ readonly type: 'raw-text'; readonly before: string } & PlacedSchema)
  /** The pieces in order, or nothing: an optional parameter. */
  | { readonly type: 'optional'; readonly pieces: readonly CallPiece[] }
  /** The call's index in the answer; the first call has the number `first`. */
  | { readonly type: 'position'; readonly first: number }

/** A call of one tool, in the format's canonical spelling. */
export type RequiredCall = {
  readonly name: string
  readonly pieces: readonly CallPiece[]
  /** Keywords of the tool's parameters that the pieces do not enforce. */
  readonly unenforced?: readonly string[]
}

/** The text of an answer that consists of required calls: one of `calls`, or several separated ones. */
export type RequiredCalls = {
  readonly prefix: string
  readonly calls: readonly RequiredCall[]
  /** The text between two calls; absent if only one is allowed. */
  readonly separator?: string
  readonly suffix: string
}

/** The calls of an answer with these tools. */
export type DescribeCalls = (tools: readonly FunctionTool[], options: { readonly parallel: boolean }) => RequiredCalls
