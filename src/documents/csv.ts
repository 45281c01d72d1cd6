/** A line of CSV; empty cells at its end are left out, and so is a row without content. */
export function csvLine(cells: readonly (string | undefined)[]): string {
  const last = cells.findLastIndex((cell) => cell !== undefined && cell !== '')
  if (last < 0) return ''
  return `${Array.from(cells.slice(0, last + 1), (cell) => quote(cell ?? '')).join(',')}\n`
}

function quote(cell: string): string {
  return /[",\n\r]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}
