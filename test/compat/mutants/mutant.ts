/** A behaviour of Dragoman that is broken on purpose: the text `find`, which a source has once, becomes `replace`. */
export type Mutant = {
  /** The ids of the rows that must notice. */
  readonly rows: readonly [string, ...string[]]
  readonly file: `src/${string}.ts`
  readonly find: string
  readonly replace: string
}
