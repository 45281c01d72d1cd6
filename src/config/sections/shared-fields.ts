import { z } from 'zod'
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
import { amount, count, optionalFlag } from './value-types.ts'

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

/** Where the weights of a model are; the same for both engines with files. */
const placementFields = {
  experts: z
    .union([z.literal('cpu'), amount])
    .exactOptional()
    .describe(
      'Mixtures of experts: whose experts stay in the memory of the machine while their layers run on the GPU: `cpu`, of all layers, or of this ' +
        'many, from the first on. Absent: as few as the free memory of the GPU requires, unless `gpuLayers` is a number or `max`.',
    ),
  devices: z
    .array(z.string().regex(/^[^\s,]+$/, 'must be a name such as CUDA0, as `dragoman doctor` prints it'))
    .min(1)
    .exactOptional()
    .describe('The GPUs that the model may use, by their names, such as `[CUDA0, CUDA1]`. Absent: all.'),
  tensorSplit: z
    .array(z.number().min(0))
    .min(1)
    .refine((parts) => parts.some((part) => part > 0), 'must have a part above 0')
    .exactOptional()
    .describe('The shares of the layers that each of these GPUs gets, such as `[3, 1]`. Absent: by their free memory.'),
  mainGpu: amount.exactOptional().describe('The only GPU that the model uses, by its place in that list, from 0 on.'),
  noMmap: optionalFlag.describe(
    'Whether the file is read into memory instead of mapped: slower to load, and safe from a file that changes.',
  ),
  lock: optionalFlag.describe(
    'Whether the weights are kept from being swapped out (`mlock`); the system must allow it (`ulimit -l`).',
  ),
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

type FileSettings = Parameters<typeof cacheProblem>[0] & { readonly mainGpu?: number; readonly tensorSplit?: readonly number[] }

/** Checks what contradicts itself in `fileFields`. */
export function checkFileFields({ value, issues }: z.core.ParsePayload<FileSettings>): void {
  const cache = cacheProblem(value)
  if (cache !== undefined) issues.push({ code: 'custom', path: ['cacheTypeV'], message: cache, input: value.cacheTypeV })
  const { mainGpu, tensorSplit } = value
  if (mainGpu === undefined || tensorSplit === undefined) return
  const message = 'cannot be used together with `tensorSplit`, which uses several GPUs: remove one of them'
  issues.push({ code: 'custom', path: ['mainGpu'], message, input: mainGpu })
}
