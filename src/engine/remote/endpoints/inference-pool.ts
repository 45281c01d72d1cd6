import { asArray, asObject, asText, type Loose } from '../transport/loose-json.ts'

import { type PlacedServer, type Reach, serversOf } from './placed-servers.ts'
import type { FoundEndpoint } from './source.ts'

/** An InferencePool of the Gateway API Inference Extension, as far as it describes its pods. */
export type InferencePool = {
  /** As a query has it: `app=vllm,tier=gpu`. */
  readonly selector: string
  readonly ports: readonly number[]
}

const zoneLabel = 'topology.kubernetes.io/zone'

/** Reads the pool. Undefined if there is none. */
export function inferencePoolOf(pool: Loose | undefined): InferencePool | undefined {
  if (pool === undefined) return undefined
  const spec = asObject(pool.spec)
  const labels = Object.entries(asObject(asObject(spec?.selector)?.matchLabels) ?? {})
  const ports = asArray(spec?.targetPorts).flatMap((port) => {
    const number = asObject(port)?.number
    return typeof number === 'number' ? [number] : []
  })
  // Without a label, all pods of the namespace would be servers.
  if (labels.length === 0 || ports.length === 0)
    throw new Error('the InferencePool has no `spec.selector.matchLabels` or no `spec.targetPorts`')
  return { selector: labels.map(([label, value]) => `${label}=${value}`).join(), ports }
}

/** The servers of pods that are ready and do not terminate: one for each port. */
export function endpointsOfPods(pods: readonly Loose[], ports: readonly number[], options: Reach): readonly FoundEndpoint[] {
  const placed = pods.flatMap((pod): readonly PlacedServer[] => {
    const metadata = asObject(pod.metadata)
    const status = asObject(pod.status)
    const host = asText(status?.podIP)
    const isReady = asArray(status?.conditions).some((condition) => {
      const { type, status } = asObject(condition) ?? {}
      return type === 'Ready' && status === 'True'
    })
    if (host === undefined || !isReady || metadata?.deletionTimestamp !== undefined) return []
    const zone = asText(asObject(metadata?.labels)?.[zoneLabel])
    return ports.map((port) => ({ scheme: 'http', host, port, ...(zone !== undefined && { zone }) }))
  })
  return serversOf(placed, options)
}
