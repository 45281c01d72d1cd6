/** A schema, values that satisfy it, values that do not, and some that satisfy it, which our grammars do not write. */
export type KeywordCase = readonly [
  schema: object | boolean,
  valid: readonly unknown[],
  invalid: readonly unknown[],
  narrowed?: readonly unknown[],
]
