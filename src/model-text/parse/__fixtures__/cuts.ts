import { cutAt } from '../../../../test/support/parse-output.ts'
import { roundsOf } from '../../../../test/support/process/soak-length.ts'
import { createRandom } from '../../../../test/support/random.ts'

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

/**
 * Letter by letter; in two, at every place of a short text and at every few of a long one, beginning elsewhere for each length; and in
 * several pieces.
 */
function cuts(raw: string): readonly (readonly string[])[] {
  const random = createRandom(raw.length)
  const step = raw.length <= roundsOf(24, 70) ? 1 : Math.ceil(raw.length / roundsOf(6, 12))
  const first = 1 + (raw.length % step)
  const places = Array.from({ length: Math.ceil((raw.length - first) / step) }, (_, index) => [first + index * step])
  const several = Array.from({ length: 2 }, () => Array.from({ length: 6 }, () => Math.floor(random() * raw.length)))
  return [[...raw], ...[...places, ...several].map((at) => cutAt(raw, at))]
}
