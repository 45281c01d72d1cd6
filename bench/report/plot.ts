/** A horizontal bar and what was measured. Lengths compare within a group. */
export type Bar = { readonly label: string; readonly length: number; readonly text: string; readonly isOurs: boolean }
export type Group = {
  readonly title: string
  readonly bars: readonly Bar[]
  /** A length that a line marks. */
  readonly reference?: number
}

const columnWidth = 540
const labelWidth = 165
const valueWidth = 145
const barHeight = 16
const rowHeight = 22
const titleHeight = 36
const padding = 16
const top = padding + 24

/** Bars in groups, in two columns, as SVG that is readable on light and dark pages: it takes the colours of the reader's scheme. */
export function plot(title: string, groups: readonly Group[]): string {
  const columns = inColumns(groups)
  const width = columnWidth * columns.length
  const height = top + Math.max(...columns.map((column) => heightOf(column))) + padding
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    '<style>',
    'text { font: 13px system-ui, sans-serif; fill: #24292f } .title { font-size: 16px; font-weight: 600 } .group { font-weight: 600 }',
    '.value { fill: #57606a } .ours { fill: #0969da } .other { fill: #afb8c1 } line { stroke: #57606a; stroke-dasharray: 3 2 }',
    '@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .value { fill: #9198a1 } .ours { fill: #4493f8 } .other { fill: #57606a }',
    'line { stroke: #9198a1 } }',
    '</style>',
    `<text class="title" x="${padding}" y="${padding + 12}">${escaped(title)}</text>`,
    ...columns.flatMap((column, index) => drawColumn(column, index * columnWidth)),
    '</svg>',
    '',
  ].join('\n')
}

/** One column, or two whose heights differ as little as their order allows. */
function inColumns(groups: readonly Group[]): Group[][] {
  const splits = groups.map((_, at) => [groups.slice(0, at), groups.slice(at)] as const)
  const heights = splits.map(([left, right]) => Math.max(heightOf(left), heightOf(right)))
  const [left, right] = splits[heights.indexOf(Math.min(...heights))] ?? [groups, []]
  return [[...left], [...right]].filter((column) => column.length > 0)
}

function heightOf(groups: readonly Group[]): number {
  return groups.reduce((sum, { bars }) => sum + titleHeight + bars.length * rowHeight, 0)
}

function drawColumn(groups: readonly Group[], left: number): string[] {
  const parts: string[] = []
  const x = left + padding + labelWidth
  let y = top
  for (const { title, bars, reference } of groups) {
    y += titleHeight
    parts.push(`<text class="group" x="${left + padding}" y="${y - 10}">${escaped(title)}</text>`)
    const unit =
      (columnWidth - 2 * padding - labelWidth - valueWidth) / Math.max(reference ?? 0, ...bars.map(({ length }) => length))
    const start = y
    for (const bar of bars) {
      const length = Math.max(1, bar.length * unit)
      const end = Math.max(length, (reference ?? 0) * unit)
      const base = y + barHeight - 4
      parts.push(
        `<text x="${x - 8}" y="${base}" text-anchor="end">${escaped(bar.label)}</text>`,
        `<rect class="${bar.isOurs ? 'ours' : 'other'}" x="${x}" y="${y}" width="${length.toFixed(1)}" height="${barHeight}" rx="2"/>`,
        `<text class="value" x="${(x + end + 8).toFixed(1)}" y="${base}">${escaped(bar.text)}</text>`,
      )
      y += rowHeight
    }
    if (reference === undefined) continue
    const at = (x + reference * unit).toFixed(1)
    parts.push(`<line x1="${at}" y1="${start - 3}" x2="${at}" y2="${y - rowHeight + barHeight + 3}"/>`)
  }
  return parts
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
