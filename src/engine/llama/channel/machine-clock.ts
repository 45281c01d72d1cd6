/** Milliseconds of a monotonic clock that all processes of this machine share; `performance.now()` begins anew in each. */
export function machineMs(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1000 + nanoseconds / 1e6
}
