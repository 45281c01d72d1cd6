import { availableParallelism } from 'node:os'
import { getLlama, type LlamaContext, LlamaLogLevel, type LlamaModel } from 'node-llama-cpp'
import type { LoadOptions } from '../channel/ipc.ts'
import { Embedder } from './embedder.ts'
import { readTemplatePart, type TemplatePart, type TemplateSource } from './model-template.ts'
import { inOrderOfSequences } from './native.ts'
import { isCausal, poolingOverrides } from './pooling.ts'
import { Rounds } from './rounds.ts'
import type { Slot } from './slots.ts'
import { createTokenTrie, readTokenTrie, type TokenTrie } from './token-trie.ts'

/** A loaded model with its context, as the worker uses it. */
export type WorkerModel = TemplatePart & {
  readonly model: LlamaModel
  readonly context: LlamaContext
  readonly slots: readonly Slot[]
  /** Everything that this context computes goes through them. */
  readonly rounds: Rounds
  readonly templateSource: TemplateSource
  readonly embedder: Embedder
  readonly tokenTrie: TokenTrie
}

/** A longer context must be configured: its memory is needed for every slot. */
const defaultContextLength = 8192
const progressStep = 0.01

type Observer = { onProgress(progress: number): void; onLog(level: LlamaLogLevel, message: string): void }

/** Loads the model file and makes one context with a sequence for each slot. Throws llama.cpp's own errors. */
export async function loadModel(options: LoadOptions, { onProgress, onLog }: Observer): Promise<WorkerModel> {
  // Starting llama.cpp mostly waits for a process that tests its library; the file is read at the same time.
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
    batching: { itemPrioritizationStrategy: inOrderOfSequences },
    failedCreationRemedy: false,
  })
  const slots = Array.from({ length: options.slots }, () => ({ sequence: context.getSequence(), busy: false, lastUsed: 0 }))
  const own = options.chatTemplate ?? model.fileInfo.metadata.tokenizer.chat_template
  const templateSource = { own, toolFormat: options.toolFormat }
  const templatePart = readTemplatePart(model, templateSource, options.template)
  const embedder = new Embedder(model, { contextLength: context.contextSize, threads })
  // An encoder generates nothing that could be constrained.
  const tokenTrie = isCausal(model) ? readTokenTrie(model) : createTokenTrie([], 0)
  return { model, context, slots, rounds: new Rounds(), ...templatePart, templateSource, embedder, tokenTrie }
}

function startLlama(onLog: Observer['onLog']): ReturnType<typeof getLlama> {
  return getLlama({
    gpu: 'auto',
    build: 'never',
    skipDownload: true,
    progressLogs: false,
    logLevel: LlamaLogLevel.info,
    logger: onLog,
    // No thread pool shared between contexts: a worker has one context, and another one when it embeds.
    maxThreads: 0,
  })
}

/**
 * All cores but one: llama.cpp's threads spin between steps, and anything else that runs on their cores, such as the server's event
 * loop, slows them down by a factor of 2 to 30 (measured; docs/decisions/0004).
 */
function defaultThreads(mathCores: number): number {
  return Math.max(1, Math.min(mathCores, availableParallelism()) - 1)
}
