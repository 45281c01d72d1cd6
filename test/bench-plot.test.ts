import { expect, test } from 'vitest'
import { plot } from '../bench/plot.ts'

const bars = [
  { label: 'ours', ratio: 50, text: '50 requests/s' },
  { label: 'others < & more', ratio: 100, text: '100 requests/s' },
]
const svg = plot('Gateways', [{ title: 'whole replies', bars }])

test('the longest bar fills its column, and the others have their share of it', () => {
  const widths = [...svg.matchAll(/<rect class="\w+" x="\d+" y="\d+" width="([\d.]+)"/g)].map(([, width]) => Number(width))
  expect(widths).toHaveLength(2)
  expect(widths[0]).toBeCloseTo((widths[1] ?? 0) / 2, 0)
  expect(svg).toContain('<rect class="ours"')
})

test('it is an XML document whose texts are escaped, with colours for light and dark', () => {
  expect(svg).toContain('others &lt; &amp; more')
  expect(svg).not.toContain('< &')
  expect(svg).toMatch(/prefers-color-scheme: dark/)
  expect(svg.match(/<text/g)).toHaveLength(svg.match(/<\/text>/g)?.length ?? 0)
})
