/** Milliseconds of a clock that nobody sets. It is the same for all processes of this machine, and says nothing about the date. */
export function steadyMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n)
}
