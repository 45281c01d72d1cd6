import { median } from './report.ts'

/** The samples of one server, engine or size, their median, and a ratio that the section explains. */
export type Row = { readonly name: string; readonly values: readonly number[]; readonly median: number; readonly ratio: number }
export type Missing = { readonly name: string; readonly reason: string }

/** One measurement: a part of the table, of the result file and of the plot. */
export type Section = {
  readonly title: string
  /** The heading of the ratios. */
  readonly ratio: string
  readonly unit: string
  readonly rows: readonly Row[]
  readonly missing: readonly Missing[]
  readonly isTime?: boolean
  /** Rows of one server at several sizes, instead of several servers. */
  readonly isGrowth?: boolean
  /** Sections of the same series are one group of the plot: ours against the next row. */
  readonly series?: { readonly title: string; readonly label: string }
  /** The plot shows ratios instead of medians. */
  readonly plotsRatio?: boolean
}

/** Samples of each server by its name; samples with the same index were taken in the same round. */
export type Samples = ReadonlyMap<string, readonly number[]>

export const better = 'dragoman is better by'

/** Rows of servers that did the same. The first is ours; a ratio above 1 means that ours is better: the median of the rounds' own. */
export function comparedRows(samples: Samples, { isTime }: { readonly isTime: boolean }): Row[] {
  const [ours = []] = samples.values()
  return [...samples].map(([name, values]) => {
    const ratioOf = (value: number, round: number) =>
      isTime ? value / (ours[round] ?? Number.NaN) : (ours[round] ?? Number.NaN) / value
    return { name, values, median: median(values), ratio: median(values.map(ratioOf)) }
  })
}

/** Rows of samples against other samples of the same name and round, as `with / without`. */
export function ratioRows(samples: Samples, baseline: Samples): Row[] {
  return [...samples].map(([name, values]) => {
    const others = baseline.get(name) ?? []
    const ratios = values.map((value, round) => value / (others[round] ?? Number.NaN))
    return { name, values, median: median(values), ratio: median(ratios) }
  })
}

/** Rows of sizes, each against the first. */
export function grownRows(samples: Samples): Row[] {
  const [first = []] = samples.values()
  return [...samples].map(([name, values]) => ({ name, values, median: median(values), ratio: median(values) / median(first) }))
}
