import { z } from 'zod'

/** Where the weights of a model are; the same for both engines with files. */
export const placementFields = {
  experts: z
    .union([z.literal('cpu'), z.int().min(0)])
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
  mainGpu: z.int().min(0).exactOptional().describe('The only GPU that the model uses, by its place in that list, from 0 on.'),
  noMmap: z
    .boolean()
    .exactOptional()
    .describe('Whether the file is read into memory instead of mapped: slower to load, and safe from a file that changes.'),
  lock: z
    .boolean()
    .exactOptional()
    .describe('Whether the weights are kept from being swapped out (`mlock`); the system must allow it (`ulimit -l`).'),
}

/** What contradicts itself in where weights are; undefined without a problem. */
export function placementProblem({
  mainGpu,
  tensorSplit,
}: {
  readonly mainGpu?: number
  readonly tensorSplit?: readonly number[]
}): string | undefined {
  if (mainGpu === undefined || tensorSplit === undefined) return undefined
  return 'cannot be used together with `tensorSplit`, which uses several GPUs: remove one of them'
}
