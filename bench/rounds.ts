import type { Missing, Samples } from './report/section.ts'

export type RoundLimits = {
  readonly rounds: number
  /** No round begins that would end later than this, counted from the first; one round is always measured. */
  readonly limitMs: number
}

/**
 * Measures each target once in every round, the order changing each round. A target that fails is left out from then on; `missing`
 * says why. The first is ours: others are compared with it, so its failure is thrown.
 */
export async function inTurns<T extends { readonly name: string }>(
  targets: readonly T[],
  measure: (target: T, round: number) => Promise<number>,
  { rounds, limitMs }: RoundLimits,
): Promise<{ readonly samples: Samples; readonly missing: Missing[] }> {
  const samples = new Map<string, number[]>(targets.map(({ name }) => [name, []]))
  const missing: Missing[] = []
  const startedMs = performance.now()
  for (let round = 0; round < rounds; round++) {
    const elapsedMs = performance.now() - startedMs
    if (round > 0 && elapsedMs + elapsedMs / round > limitMs) break
    for (const target of round % 2 === 0 ? targets : [...targets].reverse()) {
      const { name } = target
      if (!samples.has(name)) continue
      try {
        samples.get(name)?.push(await measure(target, round))
      } catch (error) {
        if (target === targets[0]) throw error
        samples.delete(name)
        missing.push({ name, reason: reasonOf(error) })
      }
    }
  }
  return { samples, missing }
}

/** Starts what can be started here. Rejects if the first, ours, cannot. */
export async function startAll<T extends { readonly name: string }, R extends object>(
  all: readonly T[],
  start: (one: T) => Promise<R>,
): Promise<{ readonly running: readonly (R & { readonly name: string })[]; readonly missing: Missing[] }> {
  const running: (R & { readonly name: string })[] = []
  const missing: Missing[] = []
  for (const one of all) {
    try {
      running.push({ ...(await start(one)), name: one.name })
    } catch (error) {
      if (one === all[0]) throw error
      missing.push({ name: one.name, reason: reasonOf(error) })
    }
  }
  return { running, missing }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
