/**
 * The parts of the next pass, ordered by sequence: llama.cpp computes several sequences in one pass only while their numbers are
 * consecutive and ascending (`llama_batch_allocr::split_equal`).
 */
export function fillPass<
  T extends { readonly tokens: ArrayLike<number>; readonly computed: number; readonly sequence: { readonly id: number } },
>(queue: readonly T[], size: number): { readonly work: T; readonly count: number }[] {
  let left = size
  const pass: { readonly work: T; readonly count: number }[] = []
  for (const work of [...queue].sort((a, b) => a.sequence.id - b.sequence.id)) {
    const count = Math.min(work.tokens.length - work.computed, left)
    if (count === 0) break
    pass.push({ work, count })
    left -= count
  }
  return pass
}
