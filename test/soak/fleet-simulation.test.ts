import { expect, test } from 'vitest'
import { simulateFleet } from '../support/fleet-simulation.ts'

test('a thousand replicas with twenty conversations each find at least 93 % of what they have cached', () => {
  const { ofIdeal, balance, moved } = simulateFleet({
    replicas: 1000,
    conversations: 20_000,
    turns: 10_000,
    warmUp: 1.5,
    seed: 1,
  })
  expect(ofIdeal).toBeGreaterThanOrEqual(0.93)
  expect(balance).toBeLessThanOrEqual(1.85)
  // Homes by hash are less even than the choice of the least loaded server, so that more turns move.
  expect(moved).toBeLessThanOrEqual(0.12)
})
