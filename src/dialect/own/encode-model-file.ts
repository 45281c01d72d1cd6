import type { z } from 'zod'
import type { FilePlan } from '../../contract/server/model-file.ts'
import type { modelFile } from './replies.ts'

/** The reply of `GET /api/model-file`. */
export function encodeModelFile(model: string, plan: FilePlan): z.input<typeof modelFile> {
  const { contextLength, trainedContextLength, bytes, gpuBytes, layerCount } = plan
  return {
    model,
    source: plan.source,
    path: plan.path,
    size_bytes: plan.sizeBytes,
    fetched: plan.isFetched,
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
