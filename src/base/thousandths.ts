/** A number rounded to three decimals, for times in replies: as short as they are exact. */
export function thousandths(value: number): number {
  return Math.round(value * 1000) / 1000
}
