import { expect, test } from 'vitest'
import { plot } from '../bench/plot.ts'
import { plotGroups } from '../bench/plot-sections.ts'
import { better, comparedRows, type Section } from '../bench/section.ts'

const bars = [
  { label: 'ours', length: 50, text: '50 requests/s', isOurs: true },
  { label: 'others < & more', length: 100, text: '100 requests/s', isOurs: false },
]
const group = { title: 'whole replies', bars }
const widthsIn = (svg: string) => [...svg.matchAll(/<rect [^>]* width="([\d.]+)"/g)].map(([, width]) => Number(width))

test('the longest bar fills its column, and the others have their share of it', () => {
  const svg = plot('Gateways', [group])
  const widths = widthsIn(svg)
  expect(widths).toHaveLength(2)
  expect(widths[0]).toBeCloseTo((widths[1] ?? 0) / 2, 0)
  expect(svg.match(/<rect class="ours"/g)).toHaveLength(1)
})

test('it is an XML document whose texts are escaped, with colours for light and dark', () => {
  const svg = plot('Gateways', [group])
  expect(svg).toContain('others &lt; &amp; more')
  expect(svg).not.toContain('< &')
  expect(svg).toMatch(/prefers-color-scheme: dark/)
  expect(svg.match(/<text/g)).toHaveLength(svg.match(/<\/text>/g)?.length ?? 0)
})

test('groups fill two columns of about the same height, in their order', () => {
  const svg = plot('All', [group, group, { ...group, bars: [...bars, ...bars, ...bars] }])
  const starts = [...svg.matchAll(/<rect [^>]* x="(\d+)"/g)].map(([, x]) => Number(x))
  expect(new Set(starts).size).toBe(2)
  expect(starts.map((x) => x === starts[0])).toEqual([...Array(4).fill(true), ...Array(6).fill(false)])
  const height = (text: string) => Number(/ height="(\d+)" role/.exec(text)?.[1])
  expect(height(svg)).toBeLessThan(height(plot('All', [{ ...group, bars: Array(10).fill(bars[0]) }])))
})

test('a line marks the reference of a group, at its length', () => {
  const svg = plot('Ratios', [{ title: 'decoding', bars: [{ label: 'a', length: 2, text: '2', isOurs: true }], reference: 1 }])
  const [, x = 0] = /<rect [^>]* x="(\d+)"/.exec(svg) ?? []
  const [, at = 0] = /<line x1="([\d.]+)"/.exec(svg) ?? []
  expect(Number(at) - Number(x)).toBeCloseTo((widthsIn(svg)[0] ?? 0) / 2, 0)
})

test('the text of a bar that is shorter than the reference begins behind the line', () => {
  const svg = plot('Ratios', [
    { title: 'decoding', bars: [{ label: 'a', length: 0.5, text: '0.5', isOurs: true }], reference: 1 },
  ])
  const [, text = 0] = /<text class="value" x="([\d.]+)"/.exec(svg) ?? []
  const [, at = 0] = /<line x1="([\d.]+)"/.exec(svg) ?? []
  expect(Number(text)).toBeGreaterThan(Number(at))
})

const decoding = (streams: number, samples: ReadonlyMap<string, readonly number[]>): Section => ({
  title: `decoding, ${streams} streams`,
  series: { title: 'decoding', label: `${streams} streams` },
  ratio: better,
  unit: 'tokens/s',
  rows: comparedRows(samples, { isTime: false }),
  missing: [],
})

test('a series of sections is one group: ours against the next server, with a line at 1', () => {
  const groups = plotGroups([
    decoding(
      2,
      new Map([
        ['dragoman', [30]],
        ['llama-server', [20]],
        ['bare', [10]],
      ]),
    ),
    decoding(
      4,
      new Map([
        ['dragoman', [50]],
        ['llama-server', [100]],
      ]),
    ),
  ])
  expect(groups).toEqual([
    {
      title: "decoding: dragoman's speed; 1 is llama-server's",
      bars: [
        { label: '2 streams', length: 1.5, text: '1.50 (30.0 tokens/s)', isOurs: true },
        { label: '4 streams', length: 0.5, text: '0.500 (50.0 tokens/s)', isOurs: true },
      ],
      reference: 1,
    },
  ])
})

test('a series that only we have run is not compared; a section without rows has no group', () => {
  const empty = { title: 'too long', ratio: better, unit: 'ms', rows: [], missing: [{ name: 'not measured', reason: 'time' }] }
  expect(plotGroups([decoding(1, new Map([['dragoman', [30]]])), empty])).toEqual([])
})

test('other sections show medians, of times with a hint, or ratios', () => {
  const rows = comparedRows(
    new Map([
      ['dragoman', [2]],
      ['dragoman, 2 workers', [1]],
      ['proxy', [0.5]],
    ]),
    { isTime: true },
  )
  const section: Section = { title: 'a reply', ratio: better, unit: 'ms', isTime: true, rows, missing: [] }
  const [medians] = plotGroups([section])
  expect(medians?.title).toBe('a reply: shorter is better')
  expect(medians?.bars.map(({ length, isOurs }) => [length, isOurs])).toEqual([
    [2, true],
    [1, true],
    [0.5, false],
  ])
  const [ratios] = plotGroups([{ ...section, isTime: false, ratio: 'with / without', plotsRatio: true }])
  expect(ratios?.title).toBe('a reply, with / without')
  expect(ratios?.bars.map(({ length }) => length)).toEqual([1, 0.5, 0.25])
})
