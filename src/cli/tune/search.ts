/** One thing to tune: its values by their labels. The first is the present one. */
export type Dimension = { readonly name: string; readonly values: readonly Value[] }

/** Settings of a model that belong together; undefined removes one. */
export type Value = { readonly label: string; readonly settings: Readonly<Record<string, unknown>> }

export type Chosen = {
  readonly name: string
  readonly before: Value
  readonly after: Value
  /** How many times as fast the model became with it. */
  readonly gain: number
}

type SearchOptions = {
  readonly dimensions: readonly Dimension[]
  /** The seconds of the work that is measured; undefined: the model does not load with these settings. */
  measure(settings: Value['settings']): Promise<number | undefined>
  /** Whether there is time for another one. */
  hasTime(): boolean
  readonly onTrial?: (name: string, value: Value, seconds: number | undefined) => void
}

export type Found = {
  readonly chosen: readonly Chosen[]
  readonly settings: Value['settings']
  readonly firstSeconds: number
  readonly seconds: number
  /** Some values were not tried. */
  readonly endedEarly: boolean
}

/** A smaller difference is noise. */
const leastGain = 1.02
/** A change of one setting can make another value of an earlier one the best. */
const mostSweeps = 3

/**
 * Tries the values of one dimension after another and keeps the fastest, until a sweep changes nothing or time is over. Undefined: the model
 * does not load as it is configured.
 */
export async function searchSettings(options: SearchOptions): Promise<Found | undefined> {
  const { dimensions, measure, hasTime, onTrial } = options
  const measured = new Map<string, number | undefined>()
  const current = dimensions.map(() => 0)
  const settingsOf = (indexes: readonly number[]): Value['settings'] =>
    Object.assign({}, ...dimensions.map(({ values }, at) => values[indexes[at] ?? 0]?.settings))
  const secondsOf = async (indexes: readonly number[], onNew: (seconds: number | undefined) => void) => {
    const key = indexes.join()
    if (measured.has(key)) return measured.get(key)
    const seconds = await measure(settingsOf(indexes))
    measured.set(key, seconds)
    onNew(seconds)
    return seconds
  }
  const firstSeconds = await secondsOf(current, () => undefined)
  if (firstSeconds === undefined) return undefined
  let best = firstSeconds
  let endedEarly = false
  const gains = dimensions.map(() => 1)
  for (let sweep = 0; sweep < mostSweeps && !endedEarly; sweep += 1) {
    const before = best
    for (const [at, { name, values }] of dimensions.entries()) {
      for (const [index, value] of values.entries()) {
        const tried = current.with(at, index)
        if (!hasTime() && !measured.has(tried.join())) {
          endedEarly = true
          continue
        }
        const seconds = await secondsOf(tried, (found) => onTrial?.(name, value, found))
        if (seconds === undefined || seconds * leastGain > best) continue
        gains[at] = ((gains[at] ?? 1) * best) / seconds
        best = seconds
        current[at] = index
      }
    }
    if (best === before) break
  }
  const chosen = dimensions.flatMap(({ name, values }, at): Chosen[] => {
    const [before, after] = [values[0], values[current[at] ?? 0]]
    return before === undefined || after === undefined || before === after ? [] : [{ name, before, after, gain: gains[at] ?? 1 }]
  })
  return { chosen, settings: settingsOf(current), firstSeconds, seconds: best, endedEarly }
}
