/** Milliseconds of a clock that cannot be set. It is shared by all processes of this machine, and unrelated to the date. */
export function steadyMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n)
}
