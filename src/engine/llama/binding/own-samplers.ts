/** Samplers that llama.cpp lacks, by the formulas of the programs that have them. */
export type OwnStep =
  | { readonly type: 'top-a'; readonly share: number }
  | { readonly type: 'tail-free'; readonly share: number }
  | { readonly type: 'smoothing'; readonly factor: number; readonly curve: number }
  | { readonly type: 'skew'; readonly skew: number }
  | (Fading & { readonly type: 'fading'; readonly history: Iterable<number> })

/** Changes the logits of the candidates, which are sorted; returns how many of the first ones stay. */
export function reshape(logits: Float32Array, step: Exclude<OwnStep, Fading>): number {
  switch (step.type) {
    case 'top-a':
      return cutTopA(logits, step.share)
    case 'tail-free':
      return cutTail(logits, step.share)
    case 'smoothing':
      return smooth(logits, step)
    case 'skew':
      return skewDraw(logits, step.skew)
  }
}

/** Keeps p >= share * p_max^2 (`top_a_cpu` of exllamav2, `TopALogitsWarper` of text-generation-webui). */
function cutTopA(logits: Float32Array, share: number): number {
  const probabilities = softmax(logits)
  const least = share * (probabilities[0] as number) ** 2
  let kept = 1
  while (kept < probabilities.length && (probabilities[kept] as number) >= least) kept++
  return kept
}

/**
 * Keeps the first tokens until the second differences of the sorted probabilities reach their share, and one more (`tfs_cpu` of exllamav2,
 * `TailFreeLogitsWarper` of text-generation-webui; https://www.trentonbricken.com/Tail-Free-Sampling/).
 */
function cutTail(logits: Float32Array, share: number): number {
  if (logits.length < 3) return logits.length
  const p = softmax(logits)
  const bend = (at: number) => Math.abs((p[at] as number) - 2 * (p[at + 1] as number) + (p[at + 2] as number))
  const bends = logits.length - 2
  let total = 0
  for (let at = 0; at < bends; at++) total += bend(at)
  let sum = 0
  let kept = 0
  while (kept < bends) {
    sum += bend(kept)
    if (sum > share * total) break
    kept++
  }
  return kept + 1
}

/**
 * max - k * f * d^2 + s * f * d^3, where d is the distance from the highest logit, k is (3 - curve) / 2 and s (curve - 1) / 2
 * (`QuadraticSamplingLogitsWarper` of text-generation-webui, `sample_temperature` of KoboldCpp).
 */
function smooth(logits: Float32Array, { factor, curve }: { readonly factor: number; readonly curve: number }): number {
  const max = logits[0] as number
  const [square, cube] = [((3 - curve) / 2) * factor, ((curve - 1) / 2) * factor]
  for (const [index, logit] of logits.entries()) {
    const distance = logit - max
    if (Number.isFinite(distance)) logits[index] = max - square * distance ** 2 + cube * distance ** 3
  }
  return logits.length
}

/**
 * The token is drawn at u^exp(-skew) instead of u (`sample_basic` of exllamav2): with C for the sum of the probabilities up to a token, it
 * is drawn with the difference of C^exp(skew).
 */
function skewDraw(logits: Float32Array, skew: number): number {
  const probabilities = softmax(logits)
  let [sum, before] = [0, 0]
  for (const [index, probability] of probabilities.entries()) {
    sum = index === probabilities.length - 1 ? 1 : Math.min(1, sum + probability)
    const until = sum ** Math.exp(skew)
    logits[index] = Math.log(until - before)
    before = until
  }
  return logits.length
}

function softmax(logits: Float32Array): Float64Array {
  const max = logits[0] as number
  const weights = Float64Array.from(logits, (logit) => Math.exp(logit - max))
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  return weights.map((weight) => weight / total)
}

/** A repetition penalty that fades over `decay` tokens before its range. */
type Fading = { readonly penalty: number; readonly range: number; readonly decay: number }

/**
 * The divisor of each token's logit (the factor, if the logit is negative): the full penalty for the last `range` tokens, fading to 1 over
 * `decay` more; the last occurrence of a token counts (`apply_rep_penalty_cpu` of exllamav2).
 */
export function fadingPenalties(history: readonly number[], { penalty, range, decay }: Fading): ReadonlyMap<number, number> {
  const factors = new Map<number, number>()
  const length = Math.min(history.length, range + decay)
  for (let age = 0; age < length; age++) {
    const token = history[history.length - 1 - age] as number
    const faded = Math.max(0, age - range) / decay
    if (!factors.has(token)) factors.set(token, penalty + (1 - penalty) * faded)
  }
  return factors
}
