import { expect, test } from 'vitest'
import { simulateFleet } from './support/fleet-simulation.ts'

/** Of what a fleet's caches have, how much a choice finds, and how evenly it loads the replicas. All with fixed seeds. */
const hundred = { replicas: 100, conversations: 2000, turns: 3000, warmUp: 2, seed: 1 }

test('a hundred replicas find at least 95 % of what they have cached, with at most 1.7 times the mean load on one', () => {
  const { ofIdeal, balance, moved } = simulateFleet(hundred)
  expect(ofIdeal).toBeGreaterThanOrEqual(0.95)
  expect(balance).toBeLessThanOrEqual(1.7)
  expect(moved).toBeLessThanOrEqual(0.07)
})

test('without affinity, the same fleet finds less than a third: the workload can tell', () => {
  const { ofIdeal, balance, moved } = simulateFleet({ ...hundred, isOff: true })
  expect(ofIdeal).toBeLessThan(0.33)
  expect(moved).toBeGreaterThan(0.9)
  expect(balance).toBeLessThan(1.3)
})

test('a higher bound finds more and balances less', () => {
  const { ofIdeal, balance } = simulateFleet({ ...hundred, affinity: { bound: 2 } })
  expect(ofIdeal).toBeGreaterThanOrEqual(0.98)
  expect(balance).toBeGreaterThan(1.7)
})

test('with a tenth of the replicas replaced each minute, it finds at least 92 %', () => {
  const { ofIdeal, moved } = simulateFleet({ ...hundred, churn: 0.1 })
  expect(ofIdeal).toBeGreaterThanOrEqual(0.92)
  expect(moved).toBeLessThanOrEqual(0.1)
})

test('with half of all conversations on one system prompt, it finds at least 88 %, and that prompt makes no hot spot', () => {
  const { ofIdeal, balance } = simulateFleet({ ...hundred, hottest: 0.5 })
  expect(ofIdeal).toBeGreaterThanOrEqual(0.88)
  expect(balance).toBeLessThanOrEqual(1.8)
})

test('a thousand replicas with few conversations each find at least 93 %', () => {
  const { ofIdeal } = simulateFleet({ replicas: 1000, conversations: 3000, turns: 3000, warmUp: 2, seed: 1 })
  expect(ofIdeal).toBeGreaterThanOrEqual(0.93)
})

const agents = { systemTokens: [8000, 12_000], thinkMs: 3000, turnsOfConversation: 20 } as const

test.each([1, 2, 3])('with seed %i, at most one turn in twenty of eight agents on two replicas moves', (seed) => {
  const { moved, ofIdeal } = simulateFleet({ replicas: 2, conversations: 8, turns: 2000, warmUp: 10, seed, ...agents })
  expect(moved).toBeLessThanOrEqual(0.05)
  expect(ofIdeal).toBeGreaterThanOrEqual(0.95)
})

test('ten replicas with six conversations each find at least 95 %', () => {
  expect(simulateFleet({ replicas: 10, conversations: 60, turns: 3000, warmUp: 10, seed: 1 }).ofIdeal).toBeGreaterThanOrEqual(
    0.95,
  )
})
