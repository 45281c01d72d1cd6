/** A test of a run. Its name is the path of its file and its full name: `FILE > SUITE > TEST`. */
export interface RanTest {
  readonly name: string
  readonly state: 'passed' | 'failed' | 'skipped' | 'pending'
  /** It failed before it passed. */
  readonly isFlaky: boolean
  /** Why it failed, also before it passed. */
  readonly failure?: string | undefined
}

export interface AllowedSkips {
  readonly why: string
  /** CI leaves them out, `npm run nightly` does not. */
  readonly isNightly?: boolean
  /** The beginnings of names. */
  readonly tests: readonly string[]
}

/** What `npm run nightly` may leave out. */
export function allowedInNightly(allowed: readonly AllowedSkips[]): AllowedSkips[] {
  return allowed.filter(({ isNightly }) => isNightly !== true)
}

/** A busy machine makes a test or two late; more is a defect. */
const mostFlaky = 3

const inOneLine = (text: string) => text.replace(/\s+/g, ' ').trim().slice(0, 3000)

/**
 * The closing lines of a run, the counts last. Tests that passed only when tried again are named, with why they failed; more than three of them count as failed. With
 * `isStrict`, as in CI, so does a test that is skipped and not allowed to be.
 */
export function closingLines(tests: readonly RanTest[], allowed: readonly AllowedSkips[], isStrict: boolean): string[] {
  const named = (wanted: (test: RanTest) => boolean) => tests.filter(wanted).map(({ name }) => name)
  const flaky = tests.filter(({ isFlaky }) => isFlaky)
  const skipped = named(({ state }) => state === 'skipped' || state === 'pending')
  const whyOf = (name: string) => allowed.find(({ tests }) => tests.some((start) => name.startsWith(start)))?.why
  const unlisted = skipped.filter((name) => whyOf(name) === undefined)
  const tooFlaky = flaky.length > mostFlaky ? flaky.length : 0
  const failed = named(({ state }) => state === 'failed').length + tooFlaky + (isStrict ? unlisted.length : 0)
  const passed = named(({ state }) => state === 'passed').length - tooFlaky
  return [
    ...flaky.map(({ name, failure = '' }) => `passed only when tried again: ${name}${failure && `: ${inOneLine(failure)}`}`),
    ...(tooFlaky > 0 ? [`${tooFlaky} tests passed only when tried again: more than ${mostFlaky} count as failed`] : []),
    ...allowed.flatMap(({ why }) => {
      const { length } = skipped.filter((name) => whyOf(name) === why)
      return length > 0 ? [`${length} skipped: ${why}`] : []
    }),
    ...(isStrict
      ? unlisted.map((name) => `skipped, which test/lanes/allowed-skips.ts does not allow: ${name}`)
      : unlisted.length > 0
        ? [`${unlisted.length} skipped: npm run doctor-dev shows what this machine lacks`]
        : []),
    `${passed} passed, ${failed} failed, ${skipped.length - (isStrict ? unlisted.length : 0)} skipped`,
  ]
}
