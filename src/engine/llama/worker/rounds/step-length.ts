/** llama.cpp's attention on a CPU computes this many tokens of a sequence as one; fewer take about twice the time for each (measured). */
export const block = 64

type Step = {
  /** The tokens that the prompt still has. */
  readonly remaining: number
  /** The most tokens to take; one more beside streams, so that the rest is in blocks. */
  readonly most: number
  /**
   * Whether streams generate in the same round. llama.cpp then splits it: one token of each sequence, and after that what is left of the
   * prompt.
   */
  readonly isBesideStreams: boolean
}

/** How many tokens of a prompt to compute next, so that all later steps are whole blocks: attention is cheapest at the beginning. */
export function stepLength({ remaining, most, isBesideStreams }: Step): number {
  const blocks = Math.floor(most / block) * block
  if (blocks === 0) return Math.ceil(remaining / Math.ceil(remaining / most))
  const shared = isBesideStreams ? 1 : 0
  const longest = blocks + shared
  if (remaining <= longest) return remaining
  const inBlocks = remaining - shared * Math.ceil(remaining / longest)
  return shared + inBlocks - block * Math.ceil((inBlocks - blocks) / block)
}
