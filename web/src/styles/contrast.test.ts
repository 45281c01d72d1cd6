import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const css = readFileSync(new URL('./base.css', import.meta.url), 'utf8')
const colours = new Map(
  Array.from(css.matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g), ([, name = '', ...both]) => [name, both]),
)

/** As the guidelines for accessible content define it. */
function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5]
    .map((at) => Number.parseInt(colour.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].toSorted((a, b) => a - b)
  return (light + 0.05) / (dark + 0.05)
}

const ofText = [...colours.keys()].filter((name) => /^code-|^(text|muted|accent|good|warn|bad)$/.test(name))

test.each(ofText)('--%s can be read on the page in both themes', (name) => {
  for (const [theme, colour] of (colours.get(name) ?? []).entries()) {
    for (const ground of ['bg', 'raised']) {
      expect(contrast(colour, colours.get(ground)?.[theme] ?? ''), `${colour} on ${ground}`).toBeGreaterThanOrEqual(4.5)
    }
  }
})

test('code has its own colours', () => {
  expect(ofText.filter((name) => name.startsWith('code-')).length).toBeGreaterThanOrEqual(8)
})
