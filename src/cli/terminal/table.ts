import { printable } from '../../app/log/printable.ts'

/** Rows of cells in columns, under a heading; what a cell has is only shown. */
export function formatTable(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const table = [heading, ...rows].map((row) => row.map(printable))
  const widths = heading.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)))
  return table
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
