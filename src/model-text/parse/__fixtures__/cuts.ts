import { createRandom, cutAt } from '../../../../test/support/parse-output.ts'

/** The first cut of a text whose result differs from that of the whole, with both; undefined when there is none. */
export function differingCut(
  raw: string,
  result: (pieces: readonly string[]) => string,
): readonly [pieces: readonly string[], cut: string, whole: string] | undefined {
  const whole = result([raw])
  for (const pieces of cuts(raw)) {
    const cut = result(pieces)
    if (cut !== whole) return [pieces, cut, whole]
  }
  return undefined
}

/** Letter by letter, in two at every place of a short text and at some of a long one, and in several pieces. */
function cuts(raw: string): readonly (readonly string[])[] {
  const random = createRandom(raw.length)
  const step = Math.ceil(raw.length / 80)
  const places = Array.from({ length: Math.floor(raw.length / step) }, (_, index) => [1 + index * step])
  const several = Array.from({ length: 4 }, () => Array.from({ length: 6 }, () => Math.floor(random() * raw.length)))
  return [[...raw], ...[...places, ...several].map((at) => cutAt(raw, at))]
}
