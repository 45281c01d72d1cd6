/** A horizontal bar: its ratio to the first of its group, and what was measured. */
export type Bar = { readonly label: string; readonly ratio: number; readonly text: string }
export type Group = { readonly title: string; readonly bars: readonly Bar[] }

const width = 760
const labelWidth = 170
const valueWidth = 150
const barHeight = 18
const rowHeight = 26
const titleHeight = 34
const padding = 16

/** Bars in groups as SVG, readable on light and dark pages: it takes the colours of the reader's scheme. */
export function plot(title: string, groups: readonly Group[]): string {
  const parts: string[] = []
  let y = padding + 24
  parts.push(`<text class="title" x="${padding}" y="${padding + 12}">${escaped(title)}</text>`)
  for (const group of groups) {
    y += titleHeight
    parts.push(`<text class="group" x="${padding}" y="${y - 10}">${escaped(group.title)}</text>`)
    const longest = Math.max(...group.bars.map(({ ratio }) => ratio))
    for (const [index, bar] of group.bars.entries()) {
      const length = Math.max(1, (bar.ratio / longest) * (width - 2 * padding - labelWidth - valueWidth))
      const x = padding + labelWidth
      const base = y + barHeight - 5
      parts.push(
        `<text x="${x - 8}" y="${base}" text-anchor="end">${escaped(bar.label)}</text>`,
        `<rect class="${index === 0 ? 'ours' : 'other'}" x="${x}" y="${y}" width="${length.toFixed(1)}" height="${barHeight}" rx="2"/>`,
        `<text class="value" x="${(x + length + 8).toFixed(1)}" y="${base}">${escaped(bar.text)}</text>`,
      )
      y += rowHeight
    }
  }
  const height = y + padding
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    '<style>',
    'text { font: 13px system-ui, sans-serif; fill: #24292f } .title { font-size: 16px; font-weight: 600 } .group { font-weight: 600 }',
    '.value { fill: #57606a } .ours { fill: #0969da } .other { fill: #afb8c1 }',
    '@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .value { fill: #9198a1 } .ours { fill: #4493f8 } .other { fill: #57606a } }',
    '</style>',
    ...parts,
    '</svg>',
    '',
  ].join('\n')
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
