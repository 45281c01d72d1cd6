import type { Bar, Group } from './plot.ts'
import { formatNumber } from './report.ts'
import type { Section } from './section.ts'

/** A group of bars for each section, or for each series of sections. Sections without rows have none. */
export function plotGroups(sections: readonly Section[]): Group[] {
  const measured = sections.filter(({ rows }) => rows.length > 0)
  const done = new Set<string>()
  return measured.flatMap((section) => {
    const { series } = section
    if (series === undefined) return [groupOf(section)]
    if (done.has(series.title)) return []
    done.add(series.title)
    const all = measured.filter((one) => one.series?.title === series.title)
    return seriesGroups(series.title, all)
  })
}

function groupOf(section: Section): Group {
  const { title, unit, rows, isTime = false, isGrowth = false, plotsRatio = false } = section
  const hint = isTime ? ': shorter is better' : plotsRatio ? `, ${section.ratio}` : ''
  return {
    title: `${title}${hint}`,
    bars: rows.map(({ name, median, ratio }) => ({
      label: name,
      length: plotsRatio ? ratio : median,
      text: plotsRatio ? formatNumber(ratio) : `${formatNumber(median)} ${unit}`,
      isOurs: isGrowth || isOurs(name),
    })),
  }
}

/** Ours against the next row: above 1, ours is better. */
function seriesGroups(title: string, sections: readonly Section[]): Group[] {
  const other = sections.flatMap(({ rows }) => rows.slice(1)).at(0)?.name
  if (other === undefined) return []
  const bars = sections.flatMap(({ series, rows, unit }): Bar[] => {
    const ratio = rows.find(({ name }) => name === other)?.ratio
    if (series === undefined || ratio === undefined) return []
    const text = `${formatNumber(ratio)} (${formatNumber(rows[0]?.median ?? Number.NaN)} ${unit})`
    return [{ label: series.label, length: ratio, text, isOurs: true }]
  })
  return [{ title: `${title}: dragoman's speed; 1 is ${other}'s`, bars, reference: 1 }]
}

function isOurs(name: string): boolean {
  return name.startsWith('dragoman')
}
