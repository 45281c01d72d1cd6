/** The part of its full length that a soak test runs for: all of it, unless `SOAK_LENGTH` says less, as in CI. */
const part = Number(process.env.SOAK_LENGTH ?? 1)

/** Whether `SOAK_LENGTH` asks for everything, as `npm run nightly` does. */
export const isFullLength = Number(process.env.SOAK_LENGTH) >= 1
/** The end of the name of a test that runs only then. */
export const nightlyHint = isFullLength ? '' : ' (skipped: `npm run nightly` runs it)'

/** The rounds of a property test: `many` at full length, else `few`. */
export function roundsOf(few: number, many: number): number {
  return isFullLength ? many : few
}

/** So much of a duration or of a count. */
export function soakLength(full: number): number {
  return Math.ceil(full * part)
}
