import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { createMetrics, type DeclaredMetric } from './metrics.ts'

const page = fileURLToPath(new URL('../../../docs/reference/metrics.md', import.meta.url))

function table(metrics: readonly DeclaredMetric[]): string {
  const rows = [
    ['metric', 'type', 'what it counts'],
    ...metrics.map(({ name, type, help, labelNames }) => [
      `\`${name}${labelNames.length === 0 ? '' : `{${labelNames.join(',')}}`}\``,
      type,
      help.replace(/\.$/, ''),
    ]),
  ]
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const write = (row: readonly string[]) => `| ${row.map((text, column) => text.padEnd(widths[column] ?? 0)).join(' | ')} |`
  const [head = [], ...body] = rows
  return [write(head), write(widths.map((width) => '-'.repeat(width))), ...body.map(write)].join('\n')
}

test('docs/reference/metrics.md lists the metrics that are served', async () => {
  const { declared } = createMetrics({ readLoad: () => [], version: '1', processMetrics: false })
  const [start, end] = ['<!-- metrics -->\n\n', '<!-- /metrics -->']
  const text = readFileSync(page, 'utf8')
  const before = text.slice(0, text.indexOf(start) + start.length)
  await expect(`${before}${table(declared)}\n\n${text.slice(text.indexOf(end))}`).toMatchFileSnapshot(page)
})
