import { readFile } from 'node:fs/promises'
import type { Logger } from 'pino'
import type { LlamaModelConfig, ModelConfig } from './config/schema.ts'
import type { Engine } from './core/engine.ts'
import type { ServedModel } from './core/generate.ts'
import { Admission } from './core/schedule/admission.ts'
import { createFakeEngine } from './engine/fake/engine.ts'
import { LlamaEngine } from './engine/llama/engine.ts'
import type { LoadOptions } from './engine/llama/ipc.ts'
import type { DownloadProgress } from './registry/download.ts'
import { ensureModelFile } from './registry/fetch-model.ts'

/** A model of this server: what serves it, and what it is called. */
export type RegisteredModel = ServedModel & {
  readonly aliases: readonly string[]
  readonly loadsAtStart: boolean
  readonly createdAtMs: number
}

/** What is told to whoever watches the start, such as a terminal. */
export type StartObserver = {
  onDownload(model: string, progress: DownloadProgress): void
  onNote(model: string, note: string): void
}

export type ModelFactory = {
  readonly home: string
  readonly log: Logger
  readonly observer: StartObserver
}

/** Makes a configured model servable. Nothing is loaded yet. */
export function createModel(config: ModelConfig, factory: ModelFactory): RegisteredModel {
  return {
    id: config.id,
    aliases: config.aliases,
    loadsAtStart: config.load === 'start',
    createdAtMs: Date.now(),
    engine: createEngine(config, factory),
    admission: new Admission({ slots: config.slots, maxQueued: config.maxQueued }),
  }
}

function createEngine(config: ModelConfig, factory: ModelFactory): Engine {
  switch (config.engine) {
    case 'llama':
      return new LlamaEngine({
        id: config.id,
        locate: (signal) => locate(config, factory, signal),
        log: factory.log,
        ...(config.defaults !== undefined && { sampling: config.defaults }),
      })
    case 'fake':
      return createFakeEngine(config)
  }
}

/** The model file on this disk, fetched if it has to be, and how to load it. */
async function locate(config: LlamaModelConfig, { home, observer }: ModelFactory, signal: AbortSignal): Promise<LoadOptions> {
  const { id, source, sha256, slots, flashAttention, contextLength, threads, batchSize, gpuLayers, chatTemplate } = config
  const modelPath = await ensureModelFile(source, {
    home,
    signal,
    ...(sha256 !== undefined && { sha256 }),
    onProgress: (progress) => observer.onDownload(id, progress),
    onNote: (note) => observer.onNote(id, note),
  })
  return {
    modelPath,
    slots,
    flashAttention,
    ...(contextLength !== undefined && { contextLength }),
    ...(threads !== undefined && { threads }),
    ...(batchSize !== undefined && { batchSize }),
    ...(gpuLayers !== undefined && { gpuLayers }),
    ...(chatTemplate !== undefined && { chatTemplate: await readFile(chatTemplate, 'utf8') }),
  }
}
