import { printable } from '../../app/log/printable.ts'

type Row = readonly string[]

/**
 * Formats rows of cells as columns under a heading; cells are shown without control characters. On a terminal that is too narrow, each row
 * is its first cell, and below it the names and values of the others.
 */
export function formatTable(heading: Row, rows: readonly Row[], width = process.stdout.columns): string {
  const table = [heading, ...rows].map((row) => row.map(printable))
  const widths = heading.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)))
  const lines = table.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
  if (width === undefined || lines.every((line) => line.length <= width)) return lines.join('\n')
  const [names = [], ...shown] = table
  return shown.map((row) => formatRow(names, row, width)).join('\n')
}

function formatRow(names: Row, [first = '', ...cells]: Row, width: number): string {
  const facts = cells
    .map((cell, index) => `${names[index + 1]?.toLowerCase()} ${cell}`.trim())
    .filter((_, index) => cells[index] !== '' && cells[index] !== '-')
  return [first, ...wrapped(facts.join(', '), width - indent.length).map((line) => indent + line)].join('\n')
}

const indent = '  '

/** Breaks between words; an overlong word gets a line of its own. */
function wrapped(text: string, width: number): readonly string[] {
  const lines: string[] = []
  for (const word of text.split(' ').filter((each) => each !== '')) {
    const longer = `${lines.at(-1) ?? ''} ${word}`
    if (lines.length > 0 && longer.length <= width) lines[lines.length - 1] = longer
    else lines.push(word)
  }
  return lines
}
