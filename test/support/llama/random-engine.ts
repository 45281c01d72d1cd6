import type { LoadOptions } from '../../../src/engine/llama/channel/ipc.ts'
import { LlamaEngine } from '../../../src/engine/llama/engine.ts'
import { randomModel } from './models.ts'

const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined }

/** llama.cpp over the model of random weights. */
export function createRandomEngine(options: Partial<LoadOptions> = {}): LlamaEngine {
  const locate = async () => ({
    modelPath: await randomModel(),
    slots: 4,
    contextLength: 2048,
    threads: 1,
    flashAttention: true,
    ...options,
  })
  return new LlamaEngine({ id: 'random', locate, log: quiet })
}
