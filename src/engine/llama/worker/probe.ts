import { getLlama, type Llama, LlamaLogLevel } from 'node-llama-cpp'
import { messageOf } from '../../../contract/errors.ts'
import { Context } from '../binding/context.ts'
import { gpusOf } from '../binding/devices.ts'
import { openLibrary } from '../binding/library.ts'
import { Model } from '../binding/model.ts'
import { Sequence } from '../binding/sequence.ts'
import { computeAndForget, llamaOptions } from './context/context.ts'
import { endWithParent } from './parent-watch.ts'

/** Enough tokens that llama.cpp computes them like a prompt: on the GPU, even for layers that stay in memory. */
const promptTokens = 64

/** A child process that reports to its parent whether llama.cpp loads and computes, and on what, then ends. */
// A driver may hang while it is loaded.
endWithParent(process.ppid)
const [, , modelPath = ''] = process.argv
try {
  const llama = await getLlama({ ...llamaOptions, logLevel: LlamaLogLevel.disabled })
  await computeWith(llama)
  const hasGpu = llama.gpu !== false
  const gpus = gpusOf(openLibrary())
  const gpuBytes = hasGpu ? (await llama.getVramState()).total : 0
  process.send?.({ gpu: hasGpu ? llama.gpu : 'none', gpus, gpuBytes, mathCores: llama.cpuMathCores })
} catch (error) {
  process.send?.({ failure: messageOf(error) })
}
process.disconnect?.()

async function computeWith(llama: Llama): Promise<void> {
  const model = await Model.load(llama, { modelPath, gpuLayers: llama.gpu === false ? 0 : 'max' })
  const threads = llama.cpuMathCores
  const context = await Context.create(model, { contextSize: 4 * promptTokens, sequences: 1, threads })
  const sequence = new Sequence(context, 0)
  await computeAndForget(sequence, promptTokens)
  // llama.cpp computes a single token differently.
  await computeAndForget(sequence, 1)
  await model.dispose()
}
