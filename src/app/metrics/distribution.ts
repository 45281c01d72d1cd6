/** The counts of a histogram. `bounds`: the upper bounds of its buckets, ascending. */
export class Distribution {
  readonly bounds: readonly number[]
  /** By bucket; values above all bounds are only in `count`. */
  readonly counts: number[]
  count = 0
  sum = 0

  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.counts = bounds.map(() => 0)
  }

  observe(value: number): void {
    const index = this.bounds.findIndex((bound) => value <= bound)
    if (index !== -1) this.counts[index] = (this.counts[index] ?? 0) + 1
    this.count += 1
    this.sum += value
  }
}
