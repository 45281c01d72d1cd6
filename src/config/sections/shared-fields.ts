import type { z } from 'zod'
import { chatDefaults } from './chat-schema.ts'
import { formatFields } from './format-schema.ts'
import { modelLimits } from './limits-schema.ts'
import { unloadAfterMs } from './memory-schema.ts'
import {
  adapters,
  aliases,
  cacheFields,
  cacheProblem,
  chatTemplate,
  count,
  fallback,
  gpuLayers,
  load,
  maxQueued,
  mirror,
  mmproj,
  required,
  samplingDefaults,
  sha256,
  sources,
} from './model-fields.ts'
import { placementFields, placementProblem } from './placement-fields.ts'

/** The fields of every model. */
export const servedFields = {
  maxQueued,
  limits: modelLimits.exactOptional(),
  chat: chatDefaults.exactOptional(),
  fallback: fallback.exactOptional(),
  mirror: mirror.exactOptional(),
  aliases,
  load,
  required: required.exactOptional(),
}

/** The fields of models that run on this machine, from a GGUF file. */
export const fileFields = {
  source: sources,
  sha256: sha256.exactOptional(),
  mmproj: mmproj.exactOptional(),
  slots: count.default(4).describe('Requests that are generated at the same time.'),
  gpuLayers: gpuLayers.exactOptional().describe('Layers that run on the GPU: a number, `auto` (what fits) or `max`.'),
  ...placementFields,
  ...cacheFields,
  adapters: adapters.exactOptional(),
  chatTemplate: chatTemplate.exactOptional(),
  ...formatFields,
  unloadAfterMs: unloadAfterMs.exactOptional(),
  defaults: samplingDefaults,
}

type FileSettings = Parameters<typeof cacheProblem>[0] & Parameters<typeof placementProblem>[0]

/** Checks what contradicts itself in `fileFields`. */
export function checkFileFields({ value, issues }: z.core.ParsePayload<FileSettings>): void {
  const cache = cacheProblem(value)
  if (cache !== undefined) issues.push({ code: 'custom', path: ['cacheTypeV'], message: cache, input: value.cacheTypeV })
  const placement = placementProblem(value)
  if (placement !== undefined) issues.push({ code: 'custom', path: ['mainGpu'], message: placement, input: value.mainGpu })
}
