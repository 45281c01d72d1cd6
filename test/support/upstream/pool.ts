import { createHash } from 'node:crypto'
import type { AffinityKey, AffinityOptions } from '../../../src/engine/remote/fleet/affinity/affinity.ts'
import {
  type AcquireRequest,
  type Lease,
  Pool,
  type PoolEndpoint,
  type RequestOutcome,
} from '../../../src/engine/remote/fleet/pool.ts'

export const ok: RequestOutcome = { type: 'ok' }
export const failed: RequestOutcome = { type: 'failed', reason: 'status 500' }
export const refused: RequestOutcome = { type: 'failed', reason: 'connection refused', isRefused: true }

/** A pool of endpoints `0`, `1` … with these weights. */
export function createPool(weights: number[], affinity: AffinityOptions = {}) {
  return new Pool(
    weights.map((weight, index) => endpoint(`${index}`, weight)),
    { breaker: { random: () => 0.5 }, affinity },
  )
}

export function endpoint(id: string, weight = 1): PoolEndpoint {
  return { id, weight }
}

/** A key for each text. Conversations share `system`. */
export function keys(...texts: string[]): AffinityKey[] {
  return texts.map((text) => {
    const digest = createHash('sha1').update(text).digest()
    return {
      high: digest.readUInt32LE(0),
      low: digest.readUInt32LE(4),
      share: 0.5,
      ...(text === 'system' && { isOld: true as const }),
    }
  })
}

export function take(pool: Pool, tokens: number, request: Partial<AcquireRequest> = {}): Lease<PoolEndpoint> {
  const lease = pool.acquire({ nowMs: 0, affinityKeys: [], ...request, tokens })
  if (lease.type === 'none') throw new Error('no lease')
  return lease
}

export function idOf(lease: Lease<PoolEndpoint>): string {
  return lease.endpoint.id
}
