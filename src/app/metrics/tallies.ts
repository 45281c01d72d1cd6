import type { Registry } from 'prom-client'
import { Distribution } from './distribution.ts'
import { addHistogram, addMetric, type Declaration, type Labels } from './exposition.ts'

/** One tally for each pair of texts, such as a model and an outcome. */
class Tallies<Tally> {
  readonly #create: () => Tally
  readonly #byTexts = new Map<string, Map<string, Tally>>()

  constructor(create: () => Tally) {
    this.#create = create
  }

  at(first: string, second = ''): Tally {
    const known = this.#byTexts.get(first)?.get(second)
    if (known !== undefined) return known
    const group = this.#byTexts.get(first) ?? new Map<string, Tally>()
    this.#byTexts.set(first, group)
    const tally = this.#create()
    group.set(second, tally)
    return tally
  }

  *labelled([first = '', second]: readonly string[]): Iterable<readonly [Labels, Tally]> {
    for (const [one, group] of this.#byTexts) {
      for (const [other, tally] of group)
        yield [second === undefined ? { [first]: one } : { [first]: one, [second]: other }, tally]
    }
  }
}

/** A counter with one or two labels, whose values are its tallies. */
export function addCounter(registry: Registry, declaration: Declaration): Tallies<{ total: number }> {
  const tallies = new Tallies(() => ({ total: 0 }))
  addMetric(registry, { type: 'counter', ...declaration }, function* () {
    for (const [labels, { total }] of tallies.labelled(declaration.labelNames)) yield [labels, total]
  })
  return tallies
}

/** A histogram with one or two labels. */
export function addDistributions(
  registry: Registry,
  { bounds, ...declaration }: Declaration & { readonly bounds: readonly number[] },
): Tallies<Distribution> {
  const tallies = new Tallies(() => new Distribution(bounds))
  addHistogram(registry, declaration, () => tallies.labelled(declaration.labelNames))
  return tallies
}

/** At most `max` names; later ones are `other`. */
export class BoundedNames {
  readonly #max: number
  readonly #known = new Set<string>()

  constructor(max: number) {
    this.#max = max
  }

  labelOf(name: string): string {
    if (this.#known.has(name)) return name
    if (this.#known.size >= this.#max) return 'other'
    this.#known.add(name)
    return name
  }
}
