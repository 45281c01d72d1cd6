import { describe, expect, test } from 'vitest'
import { simulateFleet } from './support/fleet-simulation.ts'

/** Of what a fleet's caches have, how much a choice finds, and how evenly it loads the replicas. All with fixed seeds. */
const hundred = { replicas: 100, conversations: 2000, turns: 6000, warmUp: 4, seed: 1 }

test('a hundred replicas find at least 97 % of what they have cached, with at most 1.8 times the mean load on one', () => {
  const { ofIdeal, balance, moved } = simulateFleet({ ...hundred, turns: 12_000 })
  expect(ofIdeal).toBeGreaterThanOrEqual(0.97)
  expect(balance).toBeLessThanOrEqual(1.8)
  expect(moved).toBeLessThanOrEqual(0.08)
})

describe('several processes that know nothing of each other, in front of a hundred replicas, find', () => {
  test.each([
    { pods: 8, atLeast: 0.95 },
    { pods: 16, atLeast: 0.95 },
    { pods: 50, atLeast: 0.93 },
  ])('at least $atLeast of it as $pods processes', ({ pods, atLeast }) => {
    expect(simulateFleet({ ...hundred, pods }).ofIdeal).toBeGreaterThanOrEqual(atLeast)
  })

  test('enough of it as sixteen that the busiest replica reads at most twice the tokens of the mean', () => {
    expect(simulateFleet({ ...hundred, pods: 16, turns: 12_000 }).read).toBeLessThanOrEqual(2)
  })

  test('at least 93 % of it, and give no replica more than twice the mean of requests, where replicas report their load each ten seconds', () => {
    const told = simulateFleet({ ...hundred, pods: 16, reportMs: 10_000 })
    expect(told.ofIdeal).toBeGreaterThanOrEqual(0.93)
    expect(told.requests).toBeLessThanOrEqual(2)
    expect(simulateFleet({ ...hundred, pods: 16 }).requests).toBeGreaterThan(2)
  })

  test('more than 95 % of it where a balancer keeps clients', () => {
    expect(simulateFleet({ ...hundred, pods: 8, keepsClients: true }).ofIdeal).toBeGreaterThanOrEqual(0.95)
  })

  test('at least 92 % of it with half of all conversations on one system prompt', () => {
    expect(simulateFleet({ ...hundred, pods: 16, hottest: 0.5 }).ofIdeal).toBeGreaterThanOrEqual(0.92)
  })
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

test('with half of all conversations on one system prompt, it finds at least 95 %, and that prompt makes no hot spot', () => {
  const { ofIdeal, balance } = simulateFleet({ ...hundred, hottest: 0.5 })
  expect(ofIdeal).toBeGreaterThanOrEqual(0.95)
  expect(balance).toBeLessThanOrEqual(1.8)
})

test('with system prompts that end differently for each conversation, it finds at least 95 %', () => {
  expect(simulateFleet({ ...hundred, ownSystemTokens: 60 }).ofIdeal).toBeGreaterThanOrEqual(0.95)
})

test('a thousand replicas with few conversations each find at least 93 %', () => {
  const { ofIdeal } = simulateFleet({ replicas: 1000, conversations: 3000, turns: 3000, warmUp: 2, seed: 1 })
  expect(ofIdeal).toBeGreaterThanOrEqual(0.93)
})

describe('questions about forty documents, each in one message with its document, find', () => {
  const documents = { count: 40, tokens: 9000 }
  const asking = {
    replicas: 8,
    conversations: 64,
    turns: 2000,
    warmUp: 4,
    seed: 1,
    hottest: 1,
    turnsOfConversation: 1,
    documents,
  }
  const systemTokens = [50, 50] as const

  test.each([
    { pods: 1, atLeast: 0.95 },
    { pods: 4, atLeast: 0.85 },
  ])('at least $atLeast of what eight replicas have cached while any of $pods may choose', ({ pods, atLeast }) => {
    expect(simulateFleet({ ...asking, systemTokens, pods }).ofIdeal).toBeGreaterThanOrEqual(atLeast)
  })
})

const agents = { systemTokens: [8000, 12_000], thinkMs: 3000, turnsOfConversation: 25 } as const

test.each([
  { pods: 1, atLeast: 0.97 },
  { pods: 8, atLeast: 0.95 },
])('two hundred agents on twenty replicas find at least $atLeast while any of $pods may choose', ({ pods, atLeast }) => {
  const { ofIdeal } = simulateFleet({ replicas: 20, conversations: 200, turns: 4000, warmUp: 8, seed: 1, pods, ...agents })
  expect(ofIdeal).toBeGreaterThanOrEqual(atLeast)
})

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
