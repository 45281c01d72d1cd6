import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { createMetrics, type DeclaredMetric } from './metrics.ts'

const page = fileURLToPath(new URL('../../../docs/metrics.md', import.meta.url))

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

/** The page with this table between its markers. */
function withTable(text: string, marker: string, metrics: readonly DeclaredMetric[]): string {
  const [start, end] = [`<!-- ${marker} -->\n\n`, `<!-- /${marker} -->`]
  const before = text.slice(0, text.indexOf(start) + start.length)
  return `${before}${table(metrics)}\n\n${text.slice(text.indexOf(end))}`
}

test('docs/metrics.md lists the metrics that are served', async () => {
  const { declared } = createMetrics({ readLoad: () => [], version: '1', processMetrics: false, dialects: ['vllm'] })
  const [ours, others] = [true, false].map((isOurs) => declared.filter(({ name }) => name.startsWith('dragoman_') === isOurs))
  const text = withTable(readFileSync(page, 'utf8'), 'metrics', ours ?? [])
  await expect(withTable(text, 'vllm', others ?? [])).toMatchFileSnapshot(page)
})
