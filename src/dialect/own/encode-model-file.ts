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
    ...(contextLength !== undefined && { context_length: contextLength }),
    ...(trainedContextLength !== undefined && { max_context_length: trainedContextLength }),
    ...(bytes !== undefined && { memory_bytes: bytes }),
    ...(gpuBytes !== undefined && { gpu_bytes: gpuBytes }),
    ...(layerCount !== undefined && { layers: layerCount }),
    budget_bytes: plan.budgetBytes,
    longest: plan.longest.map((fit) => ({ slots: fit.slots, context_length: fit.contextLength })),
  }
}
