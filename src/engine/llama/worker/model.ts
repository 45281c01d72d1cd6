import { availableParallelism } from 'node:os'
import { getLlama, type LlamaContext, LlamaLogLevel, type LlamaModel } from 'node-llama-cpp'
import type { LoadOptions } from '../channel/ipc.ts'
import { Embedder } from './embedder.ts'
import { readTemplatePart, type TemplatePart, type TemplateSource } from './model-template.ts'
import { poolingOverrides } from './pooling.ts'
import type { Slot } from './slots.ts'

/** A loaded model with its context, as the worker uses it. */
export type WorkerModel = TemplatePart & {
  readonly model: LlamaModel
  readonly context: LlamaContext
  readonly slots: readonly Slot[]
  readonly templateSource: TemplateSource
  readonly embedder: Embedder
  readonly bindsAllTools: boolean
}

/** A longer context is a choice of the operator: its memory is paid for every slot. */
const defaultContextLength = 8192
const progressStep = 0.01

type Observer = { onProgress(progress: number): void; onLog(level: LlamaLogLevel, message: string): void }

/** Loads the model file and makes one context with a sequence for each slot. Throws with llama.cpp's own words. */
export async function loadModel(options: LoadOptions, { onProgress, onLog }: Observer): Promise<WorkerModel> {
  // Starting llama.cpp is mostly waiting for a process that tries its library out; the file is looked into meanwhile.
  const [llama, metadataOverrides] = await Promise.all([startLlama(onLog), poolingOverrides(options.modelPath)])
  let reported = 0
  const model = await llama.loadModel({
    modelPath: options.modelPath,
    metadataOverrides,
    ...(options.gpuLayers !== undefined && { gpuLayers: options.gpuLayers }),
    onLoadProgress(progress) {
      if (progress - reported < progressStep && progress < 1) return
      reported = progress
      onProgress(progress)
    },
  })
  const threads = options.threads ?? defaultThreads(llama.cpuMathCores)
  const context = await model.createContext({
    contextSize: options.contextLength ?? Math.min(model.trainContextSize, defaultContextLength),
    sequences: options.slots,
    flashAttention: options.flashAttention,
    threads,
    ...(options.batchSize !== undefined && { batchSize: options.batchSize }),
    failedCreationRemedy: false,
  })
  const slots = Array.from({ length: options.slots }, () => ({ sequence: context.getSequence(), busy: false, lastUsed: 0 }))
  const own = options.chatTemplate ?? model.fileInfo.metadata.tokenizer.chat_template
  const templateSource = { own, toolFormat: options.toolFormat }
  const templatePart = readTemplatePart(model, templateSource, options.template)
  const embedder = new Embedder(model, { contextLength: context.contextSize, threads })
  const { bindsAllTools = false } = options
  return { model, context, slots, ...templatePart, templateSource, embedder, bindsAllTools }
}

function startLlama(onLog: Observer['onLog']): ReturnType<typeof getLlama> {
  return getLlama({
    gpu: 'auto',
    build: 'never',
    skipDownload: true,
    progressLogs: false,
    logLevel: LlamaLogLevel.info,
    logger: onLog,
    // No pool of threads shared between contexts: a worker has one context, and one more when it embeds.
    maxThreads: 0,
  })
}

/**
 * One core less than there are: llama.cpp's threads spin between steps, and anything else that then runs on their cores,
 * the server's own event loop included, costs a factor of 2 to 30 (measured; docs/decisions).
 */
function defaultThreads(mathCores: number): number {
  return Math.max(1, Math.min(mathCores, availableParallelism()) - 1)
}
