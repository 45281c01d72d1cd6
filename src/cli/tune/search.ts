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
  /** The seconds of the work that is measured, or why they are unknown. It ends within `mostMs`. */
  measure(settings: Value['settings'], mostMs: number): Promise<number | string>
  /** How long all of it may take. */
  readonly limitMs: number
  readonly now?: () => number
  readonly onTrial?: (name: string, value: Value, result: number | string) => void
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
/**
 * A trial may take this many times as long as the shortest one: settings that are slower by far, such as threads that wait for busy cores,
 * would use up the time of the others.
 */
const patience = 3
/** A change of one setting can make another value of an earlier one the best. */
const mostSweeps = 3

/**
 * Tries the values of one dimension after another and keeps the fastest, until a sweep changes nothing or time is over. A text says why the
 * model could not be measured as it is configured.
 */
export async function searchSettings(options: SearchOptions): Promise<Found | string> {
  const { dimensions, measure, limitMs, now = () => performance.now(), onTrial } = options
  const endMs = now() + limitMs
  let shortestMs = Number.POSITIVE_INFINITY
  /** A trial must not end behind the limit. */
  const hasTime = () => now() + shortestMs <= endMs
  const measured = new Map<string, number | string>()
  const current = dimensions.map(() => 0)
  const settingsOf = (indexes: readonly number[]): Value['settings'] =>
    Object.assign({}, ...dimensions.map(({ values }, at) => values[indexes[at] ?? 0]?.settings))
  const resultOf = async (indexes: readonly number[], onNew: (result: number | string) => void) => {
    const key = indexes.join()
    const known = measured.get(key)
    if (known !== undefined) return known
    const beganMs = now()
    const result = await measure(settingsOf(indexes), Math.min(endMs - beganMs, patience * shortestMs))
    if (typeof result === 'number') shortestMs = Math.min(shortestMs, now() - beganMs)
    measured.set(key, result)
    onNew(result)
    return result
  }
  const firstSeconds = await resultOf(current, () => undefined)
  if (typeof firstSeconds === 'string') return firstSeconds
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
        const seconds = await resultOf(tried, (result) => onTrial?.(name, value, result))
        if (typeof seconds === 'string' || seconds * leastGain > best) continue
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
