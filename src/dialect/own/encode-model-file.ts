import type { z } from 'zod'
import type { FilePlan, LoadEstimate } from '../../contract/server/model-file.ts'
import type { loadEstimate, modelFile } from './replies.ts'

/** The reply of `GET /api/model-file`. */
export function encodeModelFile(model: string, plan: FilePlan): z.input<typeof modelFile> {
  return { ...encodeEstimate(model, plan), path: plan.path, fetched: plan.isFetched }
}

/** The reply of `GET /api/load-estimate`. */
export function encodeEstimate(model: string, plan: LoadEstimate): z.input<typeof loadEstimate> {
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
