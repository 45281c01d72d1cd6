/**
 * Seals what a model thought, so that it comes back unchanged or not at all. Every process with the same key can open it.
 */
export type Sealer = {
  seal(text: string): string
  /** Undefined for what was not sealed with this key, or was changed. */
  open(sealed: string): string | undefined
}
