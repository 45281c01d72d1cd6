import type { JsonObject } from '../request.ts'

/** A piece of a forced call: text as it stands, or a value. */
export type ForcedPiece =
  | { readonly type: 'text'; readonly text: string }
  /** JSON that satisfies the schema. */
  | { readonly type: 'json'; readonly schema: JsonObject | boolean }
  /** Any text that does not contain `before`, the mark that follows it. */
  | { readonly type: 'free-text'; readonly before: string }
  /** The pieces in order, or nothing: a parameter that need not be given. */
  | { readonly type: 'optional'; readonly pieces: readonly ForcedPiece[] }

/** How calls look when nothing but calls may be written: one of `calls`, or several with `separator` between them. */
export type ForcedCalls = {
  readonly prefix: string
  readonly calls: readonly { readonly name: string; readonly pieces: readonly ForcedPiece[] }[]
  /** Between two calls; absent when only one is allowed. */
  readonly separator?: string
  readonly suffix: string
}
