/**
 * Seals a model's reasoning for one caller, so that it returns from this caller unchanged or not at all. Every process with the same key
 * can open it.
 */
export type Sealer = {
  seal(text: string): string
  /** Undefined for text that was not sealed with this key for this caller, or was changed. */
  open(sealed: string): string | undefined
}

/** The sealer of a caller, by the id of its principal, as in the store. */
export type SealerOf = (owner: string) => Sealer
