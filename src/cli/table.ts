/** Rows of cells in columns, under a heading. */
export function formatTable(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const table = [heading, ...rows]
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
