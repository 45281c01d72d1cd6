import { given } from '../../base/json.ts'
import type { FilePlan, LoadEstimate } from '../../contract/server/model-file.ts'
import type { WireLoadEstimate, WireModelFile } from './replies.ts'

/** The reply of `GET /api/model-file`. */
export function encodeModelFile(model: string, plan: FilePlan): WireModelFile {
  return { ...encodeEstimate(model, plan), path: plan.path, fetched: plan.isFetched }
}

/** The reply of `GET /api/load-estimate`. */
export function encodeEstimate(model: string, plan: LoadEstimate): WireLoadEstimate {
  const { contextLength, trainedContextLength, bytes, gpuBytes, layerCount } = plan
  return {
    model,
    source: plan.source,
    size_bytes: plan.sizeBytes,
    slots: plan.slots,
    ...given({ context_length: contextLength, max_context_length: trainedContextLength, memory_bytes: bytes }),
    ...given({ gpu_bytes: gpuBytes, layers: layerCount }),
    budget_bytes: plan.budgetBytes,
    longest: plan.longest.map((fit) => ({ slots: fit.slots, context_length: fit.contextLength })),
  }
}
