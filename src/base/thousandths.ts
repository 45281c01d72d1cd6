/** A number to three digits after its point: times in replies, which are as short as they are exact. */
export function thousandths(value: number): number {
  return Math.round(value * 1000) / 1000
}
