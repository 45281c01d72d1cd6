import { availableParallelism } from 'node:os'
import { findBackend } from '../../engine/llama/find-backend.ts'
import { builtinModel } from '../../registry/names/builtin-model.ts'
import { availableMemoryBytes } from '../../registry/names/memory.ts'
import type { Machine } from '../../registry/names/suggested-models.ts'
import { installedLlamaPackage } from '../models/llama-package.ts'

/** The machine for models. `home`: the data folder, which may have llama.cpp; until that is installed, the GPU is unknown. */
export async function thisMachine(home: string): Promise<Machine> {
  return { memoryBytes: availableMemoryBytes(), cores: availableParallelism(), gpuBytes: await findGpu(home) }
}

async function findGpu(home: string): Promise<number | undefined> {
  const enginePath = await installedLlamaPackage(home)
  if (enginePath === 'missing') return undefined
  const backend = await findBackend({
    modelPath: builtinModel.path,
    enginePath: enginePath === 'beside' ? undefined : enginePath,
  })
  return 'failure' in backend ? undefined : backend.gpuBytes
}
