import { Counter, Histogram, Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { addCounter, addDistributions } from './tallies.ts'

const help = 'What it counts.'
const bounds = [0.1, 1, 2.5]
const observed = [
  [0.05, 'a', 'x'],
  [0.1, 'a', 'x'],
  [2, 'a', 'y'],
  [7, 'b "quoted"', 'x'],
] as const

/** Of traces, which nobody gave. */
const withoutExemplars = (metrics: object): unknown =>
  JSON.parse(JSON.stringify(metrics, (key, value) => (key === 'exemplar' ? undefined : value)))

test('a histogram is rendered, and read by other processes, as that of prom-client', async () => {
  const [ours, theirs] = [new Registry(), new Registry()]
  const labelNames = ['model', 'outcome'] as const
  const tallied = addDistributions(ours, { name: 'seconds', help, labelNames, bounds })
  const usual = new Histogram({ name: 'seconds', help, labelNames: [...labelNames], buckets: bounds, registers: [theirs] })
  for (const [value, model, outcome] of observed) {
    tallied.at(model, outcome).observe(value)
    usual.observe({ model, outcome }, value)
  }
  expect(await ours.metrics()).toBe(await theirs.metrics())
  expect(withoutExemplars(await ours.getMetricsAsJSON())).toEqual(withoutExemplars(await theirs.getMetricsAsJSON()))
})

test('a counter is rendered, and read by other processes, as that of prom-client', async () => {
  const [ours, theirs] = [new Registry(), new Registry()]
  const tallied = addCounter(ours, { name: 'total', help, labelNames: ['model'] })
  const usual = new Counter({ name: 'total', help, labelNames: ['model'], registers: [theirs] })
  for (const [, model] of observed) {
    tallied.at(model).total += 2
    usual.inc({ model }, 2)
  }
  tallied.at('none')
  usual.inc({ model: 'none' }, 0)
  expect(await ours.metrics()).toBe(await theirs.metrics())
  expect(await ours.getMetricsAsJSON()).toEqual(await theirs.getMetricsAsJSON())
})
