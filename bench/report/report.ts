import type { Section } from './section.ts'

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

type TableRow = readonly (string | number)[]

/** Prints rows in columns; numbers with three significant digits. */
export function printTable(header: readonly string[], rows: readonly TableRow[]): void {
  for (const line of tableLines([header, ...rows])) console.log(line)
}

/** All sections as one table: what was measured, the ratio, the median and how many rounds it is of. */
export function sectionLines(sections: readonly Section[]): string[] {
  return tableLines(
    sections.flatMap(({ title, ratio, unit, rows, missing }, index) => [
      ...(index === 0 ? [] : [[]]),
      [title, ratio, unit, 'rounds'],
      ...rows.map(({ name, ratio, median, values }) => [`  ${name}`, ratio, median, String(values.length)]),
      ...missing.map(({ name, reason }) => [`  ${name}: ${reason}`]),
    ]),
  )
}

/** The first column is aligned left, the others right. A row of one cell is as long as it is. */
function tableLines(rows: readonly TableRow[]): string[] {
  const text = rows.map((row) => row.map((cell) => (typeof cell === 'number' ? formatNumber(cell) : cell)))
  const columns = text.filter((row) => row.length > 1)
  const widthOf = (column: number) => Math.max(...columns.map((row) => row[column]?.length ?? 0))
  return text.map((row) => {
    if (row.length === 1) return row.join('')
    return row.map((cell, column) => (column === 0 ? cell.padEnd(widthOf(0)) : cell.padStart(widthOf(column)))).join('  ')
  })
}

/** Three significant digits, never an exponent. */
export function formatNumber(value: number): string {
  return Math.abs(value) >= 999.5 ? Math.round(value).toString() : value.toPrecision(3)
}
