export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

/** Prints rows in columns; numbers with three significant digits. */
export function printTable(header: readonly string[], rows: readonly (readonly (string | number)[])[]): void {
  const text = [header, ...rows.map((row) => row.map((cell) => (typeof cell === 'number' ? formatNumber(cell) : cell)))]
  const widths = header.map((_, column) => Math.max(...text.map((row) => row[column]?.length ?? 0)))
  for (const row of text)
    console.log(
      row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0))).join('  '),
    )
}

function formatNumber(value: number): string {
  return value >= 1000 ? Math.round(value).toString() : value.toPrecision(3)
}
