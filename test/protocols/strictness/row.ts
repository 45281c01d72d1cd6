import type { JsonObject } from '../../../src/contract/request.ts'

/**
 * What a dialect does with something that its protocol forbids, leaves open, or knows in several forms. `tolerated`: accepted as it is;
 * `healed`: taken for what it means; `refused`: a 400 that names `param`.
 */
export type StrictnessRow = {
  /** What the caller sends. */
  readonly what: string
  /** The fields of a body that show it. */
  readonly sample: JsonObject
  /** What becomes of it, or why. */
  readonly note: string
} & (
  | {
      readonly outcome: 'tolerated' | 'healed'
      /** What the request must hold in canonical form; an array is a whole one. */
      readonly becomes?: JsonObject
      /** What `x-dragoman-ignored` names. */
      readonly ignored?: readonly string[]
    }
  | { readonly outcome: 'refused'; readonly param: string }
)

/** The rows of one dialect, each tested with its sample. */
export type StrictnessTable = {
  readonly title: string
  /** The smallest valid body, over which the samples are laid. */
  readonly base: JsonObject
  readonly rows: readonly StrictnessRow[]
}
