import { join } from 'node:path'
import type { Logger } from 'pino'
import { given } from '../../base/json.ts'
import { fileReason } from '../../canonical/failure-reason.ts'
import type { LlamaModelConfig } from '../../config/schema.ts'
import { formatSettingsOf } from '../../config/sections/format-schema.ts'
import type { Engine } from '../../contract/engine.ts'
import { AppError } from '../../contract/errors.ts'
import type { MediaConverter } from '../../contract/media.ts'
import type { LoadOptions } from '../../engine/llama/channel/ipc.ts'
import { shortHash } from '../../engine/llama/channel/short-hash.ts'
import { LlamaEngine } from '../../engine/llama/engine.ts'
import { type ModelFiles, pathsOf } from '../../lifecycle/fetch-files.ts'
import { describeContext } from '../../registry/gguf/choose-context.ts'
import { requireReadableGguf } from '../../registry/gguf/require-gguf.ts'
import { ensureLlamaPackage } from './llama-package.ts'
import { defaultContext, type MemorySharing, workerNeed } from './memory/memory-sharing.ts'
import { placementOf, weightsToFit } from './memory/placement.ts'
import type { Senses } from './senses/senses.ts'
import { readText } from './templates/read-model-template.ts'
import type { findTemplateByName } from './templates/template-by-name.ts'

/** Finds or fetches the files of a model; called before each start of its process. */
export type LocateFiles = (signal: AbortSignal) => Promise<ModelFiles>

/** Finds a model's template by the model's name; called before each start of its process. */
export type FindTemplate = () => ReturnType<typeof findTemplateByName>

type LlamaParts = {
  readonly home: string
  readonly log: Logger
  readonly observer: { onNote(model: string, note: string): void }
  readonly converter: MediaConverter
  readonly locateFiles: LocateFiles
  readonly findTemplate: FindTemplate
  readonly sharing: Pick<MemorySharing, 'room'>
  readonly senses: Pick<Senses, 'findLibrary'>
}

/** The embedded engine of a configured model. Nothing is started yet. */
export function createLlama(
  config: LlamaModelConfig,
  { home, log, observer, converter, locateFiles, findTemplate, sharing, senses }: LlamaParts,
): Engine {
  const { id, adapters = [], toolStrategy, defaults, prefixCache } = config
  return new LlamaEngine({
    id,
    log,
    locate: async (signal) => {
      const { mmprojPath, ...others } = await locateFiles(signal)
      const sensesPath = senses.findLibrary()
      const isRead = mmprojPath !== undefined && sensesPath !== undefined
      const files = isRead ? { ...others, mmprojPath } : others
      for (const path of pathsOf(files)) await requireReadableGguf(path)
      const enginePath = await ensureLlamaPackage({ home, signal, onNote: (note) => observer.onNote(id, note) })
      const template = await findTemplate()
      const plan = {
        ...(await planOf(config, { files, home })),
        ...given({ template, enginePath }),
        ...(isRead && { sensesPath }),
      }
      const context = plan.contextLength === undefined ? await defaultContext(plan, sharing.room()) : undefined
      if (context !== undefined) log.info({ model: id }, `context: ${describeContext(context)}`)
      const complete = { ...plan, ...(context !== undefined && { longestContext: context.contextLength }) }
      const weights = await weightsToFit(complete)
      return weights === undefined ? complete : { ...complete, weights }
    },
    need: workerNeed,
    hasProjector: config.mmproj !== 'none',
    converter,
    adapters: adapters.map(({ name, scale }) => ({ name, scale })),
    constrainsAllTools: toolStrategy === 'two-pass',
    keysShare: prefixCache !== 'off' && prefixCache.keysShare,
    ...(defaults !== undefined && { sampling: defaults }),
  })
}

async function planOf(
  config: LlamaModelConfig,
  { files, home }: { readonly files: ModelFiles; readonly home: string },
): Promise<LoadOptions> {
  const { id, slots, flashAttention, cacheTypeK, cacheTypeV, speculation, prefixCache, contextLength, threads } = config
  const { batchSize, stopWithinMs, gpuLayers, chatTemplate, rope } = config
  return {
    ...files,
    slots,
    flashAttention,
    stopWithinMs,
    ...given({ speculation, contextLength, threads, batchSize, gpuLayers, rope, cacheTypeK, cacheTypeV }),
    ...(prefixCache !== 'off' && { prefixCache: keptPrefixes(prefixCache, prefixFolder(home, id)) }),
    ...placementOf(config),
    ...formatSettingsOf(config),
    ...(chatTemplate !== undefined && { chatTemplate: await readTemplate(chatTemplate) }),
  }
}

function keptPrefixes(
  { memory, disk, minTokens }: Exclude<LlamaModelConfig['prefixCache'], 'off'>,
  folder: string,
): NonNullable<LoadOptions['prefixCache']> {
  return {
    minTokens,
    memoryBytes: memory === 'off' ? 0 : (memory ?? 'spare'),
    ...(disk !== 'off' && { disk: { folder, ...(disk !== undefined && { maxBytes: disk }) } }),
  }
}

/** Ids may contain characters that folder names cannot. */
function prefixFolder(home: string, id: string): string {
  return join(home, 'prefix-cache', shortHash(id))
}

async function readTemplate(path: string): Promise<string> {
  try {
    return await readText(path)
  } catch (error) {
    const message = `its chatTemplate '${path}' cannot be read: ${fileReason(error)}`
    throw new AppError('model-unavailable', message, { cause: error })
  }
}
