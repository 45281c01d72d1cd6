/** The part of its full length that a soak test runs for: all of it, unless `SOAK_LENGTH` says less, as in CI. */
const part = Number(process.env.SOAK_LENGTH ?? 1)

/** The rounds of a property test: `many` where `SOAK_LENGTH` asks for the full length, else `few`. */
export function roundsOf(few: number, many: number): number {
  return Number(process.env.SOAK_LENGTH) >= 1 ? many : few
}

/** So much of a duration or of a count. */
export function soakLength(full: number): number {
  return Math.ceil(full * part)
}
