import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { createMetrics } from './metrics.ts'

const fileAt = (path: string) => fileURLToPath(new URL(`../../../deploy/${path}`, import.meta.url))
const rulesFile = fileAt('prometheus/alerts.yaml')
const dashboard = readFileSync(fileAt('grafana/dragoman.json'), 'utf8')

/** Labels that Prometheus adds, and its own metric. */
const added = ['instance', 'job']
const own = new Map([['up', added]])

/** Each family that is served, and its labels. */
function served(): Map<string, readonly string[]> {
  const { declared } = createMetrics({ readLoad: () => [], version: '1' })
  const families = declared.flatMap(({ name, type, labelNames }): [string, readonly string[]][] => {
    const labels = [...labelNames, ...added]
    if (type !== 'histogram') return [[name, labels]]
    return [
      [`${name}_bucket`, [...labels, 'le']],
      [`${name}_sum`, labels],
      [`${name}_count`, labels],
    ]
  })
  return new Map([...own, ...families])
}

type Query = { readonly expr: string; readonly legend: string }

function panelQueries(): Query[] {
  const { panels, templating } = JSON.parse(dashboard)
  const targets = panels.flatMap(({ targets = [] }: { targets?: { expr: string; legendFormat: string }[] }) => targets)
  const variables = templating.list.filter(({ type }: { type: string }) => type === 'query')
  return [
    ...targets.map(({ expr, legendFormat }: { expr: string; legendFormat: string }) => ({ expr, legend: legendFormat })),
    ...variables.map(({ query }: { query: string }) => ({ expr: query, legend: '' })),
  ]
}

function ruleQueries(): Query[] {
  const { groups } = parse(readFileSync(rulesFile, 'utf8'))
  return groups.flatMap(({ rules }: { rules: { expr: string; annotations: { summary: string } }[] }) =>
    rules.map(({ expr, annotations }) => ({ expr, legend: annotations.summary })),
  )
}

/** The metrics of a query, and the labels that it asks for. */
function namesIn({ expr, legend }: Query) {
  const bare = expr.replaceAll(/"[^"]*"/g, '""')
  const metrics = [...new Set(bare.match(/\b(?:dragoman|nodejs|process|vllm)[_:]\w+|\bup\b/g) ?? [])]
  const matchers = [...bare.matchAll(/[{,]\s*(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label)
  const groupings = [...bare.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) =>
    list.split(',').map((label) => label.trim()),
  )
  const values = [...bare.matchAll(/label_values\(.*, (\w+)\)/g)].map(([, label = '']) => label)
  const shown = [...legend.matchAll(/\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}/g)].map(([, label = '']) => label)
  return { metrics, labels: [...new Set([...matchers, ...groupings, ...values, ...shown])] }
}

test.each([
  ['the dashboard', panelQueries(), 35],
  ['the alert rules', ruleQueries(), 10],
])('%s asks only for metrics and labels that are served', (_, queries, least) => {
  const known = served()
  expect(queries.length).toBeGreaterThan(least)
  for (const query of queries) {
    const { metrics, labels } = namesIn(query)
    expect(metrics, query.expr).not.toEqual([])
    for (const metric of metrics) expect(known.has(metric), `${metric} of ${query.expr}`).toBe(true)
    for (const label of labels) {
      const has = metrics.some((metric) => known.get(metric)?.includes(label))
      expect(has, `${label} of ${query.expr}`).toBe(true)
    }
  }
})

test('a query for a metric or a label that is not there is found', () => {
  const query = { expr: 'sum by (modle) (rate(dragoman_gone_total{key="a"}[5m]))', legend: '{{server}} {{ $labels.host }}' }
  expect(namesIn(query)).toEqual({ metrics: ['dragoman_gone_total'], labels: ['key', 'modle', 'server', 'host'] })
})

test('panels have ids and places of their own', () => {
  const { panels } = JSON.parse(dashboard) as { panels: { id: number; gridPos: { x: number; y: number; w: number } }[] }
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  expect(new Set(panels.map(({ gridPos: { x, y } }) => `${x} ${y}`)).size).toBe(panels.length)
  for (const { gridPos } of panels) expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24)
})

const hasPromtool = spawnSync('promtool', ['--version']).status === 0

test.skipIf(!hasPromtool)(
  'Prometheus accepts the rules and the metrics (needs promtool of the Debian package prometheus)',
  async () => {
    execFileSync('promtool', ['check', 'rules', rulesFile])
    const metrics = createMetrics({ readLoad: () => [], version: '1' })
    const usage = { inputTokens: 1, cachedInputTokens: 1, outputTokens: 2, reasoningTokens: 0 }
    const who = { id: 'r', caller: 'a "quoted" key', model: 'm' }
    metrics.generationEnded({
      ...who,
      outcome: 'ok',
      durationMs: 9,
      usage,
      timings: { firstTokenMs: 1 },
      finishReasons: ['stop'],
    })
    metrics
      .fleetObserver('m')
      .attemptEnded({ server: 'a:1', kind: 'vllm', model: 'm', retry: 1 }, { outcome: 'ok', firstChunkMs: 3, usage })
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], {
      input: await metrics.render(),
      encoding: 'utf8',
    })
    expect([status, stdout, stderr]).toEqual([0, '', ''])
  },
)
