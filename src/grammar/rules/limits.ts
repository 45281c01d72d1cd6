/**
 * The limits of one grammar; it is refused past any of them. Schemas come from outside, and an engine parses a grammar and walks it for
 * every token.
 */
export type GrammarLimits = {
  /** Levels of subschemas inside subschemas. */
  readonly schemaDepth: number
  /** Subschemas in one document. */
  readonly schemaNodes: number
  /** Branches of one value after `anyOf`, `oneOf` and `dependent…` are multiplied out. */
  readonly alternatives: number
  readonly rules: number
  readonly grammarChars: number
  /** States of the automaton of one text pattern. */
  readonly automatonStates: number
  /** Members that one object declares. */
  readonly members: number
  /** Effort, in about microseconds, that does not show in the size: patterns, combinations, listed values, counted members. */
  readonly effort: number
  /** The largest lower bound of a repetition; a larger upper bound is lowered to it. */
  readonly repetitions: number
  /** Levels of nesting inside a value without a schema; a model that has lost its way would nest without end. */
  readonly anyValueDepth: number
}

/** The limits of one automaton. `spend` counts effort, in about microseconds, and throws past the limit. */
export type AutomatonLimit = { readonly states: number; spend(effort: number): void }

export const defaultLimits: GrammarLimits = {
  schemaDepth: 64,
  schemaNodes: 20_000,
  alternatives: 256,
  rules: 20_000,
  grammarChars: 1_500_000,
  automatonStates: 3000,
  members: 1000,
  effort: 1_000_000,
  repetitions: 100_000,
  anyValueDepth: 8,
}
