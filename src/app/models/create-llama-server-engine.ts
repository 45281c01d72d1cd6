import type { Logger } from 'pino'
import { given } from '../../base/json.ts'
import type { LlamaServerModelConfig } from '../../config/schema.ts'
import { formatSettingsOf } from '../../config/sections/format-schema.ts'
import type { Engine } from '../../contract/engine.ts'
import type { MediaConverter } from '../../contract/media.ts'
import { LlamaServerEngine } from '../../engine/llama-server/engine.ts'
import { freeDeviceBytes } from '../../engine/llama-server/free-device-bytes.ts'
import { knowsArgument } from '../../engine/llama-server/knows-argument.ts'
import type { ServerPlan } from '../../engine/llama-server/server-plan.ts'
import { createRemoteEngine } from '../../engine/remote/engine.ts'
import type { ModelFiles } from '../../lifecycle/fetch-files.ts'
import { describeContext, onGpu } from '../../registry/gguf/choose-context.ts'
import { draftTypeOf } from '../../registry/gguf/draft-type.ts'
import { usualContext } from '../../registry/gguf/memory-need.ts'
import { readProjector } from '../../registry/gguf/read-projector.ts'
import type { FindTemplate, LocateFiles } from './create-llama-engine.ts'
import { defaultContext, type MemorySharing, promptCacheBytes, serverNeed } from './memory/memory-sharing.ts'
import { placementOf } from './memory/placement.ts'

type LlamaServerParts = {
  readonly log: Logger
  readonly converter: MediaConverter
  readonly locateFiles: LocateFiles
  readonly findTemplate: FindTemplate
  readonly sharing: Pick<MemorySharing, 'room'>
  /** The program; asked before each start. */
  readonly findBinary: () => string
}

/**
 * Projectors for which llama-server puts no token between pictures. It checks for a cancel only where it reads text, so it would read any
 * number of pictures to their end. The prompts of these models (LLaVA, MobileVLM) get a line break after a picture.
 */
const withoutSeparators: ReadonlySet<string | undefined> = new Set(['mlp', 'ldp', 'ldpv2'])

/** Arguments that set the server's default for thinking. */
const reasoningArgument = /^(?:-rea|--reasoning|--chat[-_]template[-_]kwargs)(?:=|$)/

/** An engine that runs a configured llama-server as a child process. Nothing is started yet. */
export function createLlamaServer(
  config: LlamaServerModelConfig,
  { log, converter, locateFiles, findTemplate, sharing, findBinary }: LlamaServerParts,
): Engine {
  const { id, slots, defaults, adapters = [], args } = config
  let separatesMedia = false
  return new LlamaServerEngine({
    id,
    log,
    locate: async (signal) => {
      const files = await locateFiles(signal)
      const binary = findBinary()
      const { mmprojPath } = files
      separatesMedia = mmprojPath !== undefined && withoutSeparators.has((await readProjector(mmprojPath))?.type)
      const template = await findTemplate()
      const named = template && { chatTemplatePath: template.path, chatTemplateName: template.name }
      const plan = { ...planOf(config, await withDraftType(files)), binary, ...named }
      const room = sharing.room()
      const withCache = async (complete: ServerPlan): Promise<ServerPlan> => {
        const { bytes } = await serverNeed(complete)
        const cacheBytes = promptCacheBytes(room.budgetBytes - bytes)
        if (cacheBytes === undefined || !(await knowsArgument(binary, '--cache-ram'))) return complete
        return { ...complete, promptCacheBytes: cacheBytes }
      }
      if (config.contextLength !== undefined) return withCache({ ...plan, contextLength: config.contextLength })
      const freeBytes = config.gpuLayers === 0 ? 0 : await freeDeviceBytes(binary)
      const context = await defaultContext(plan, onGpu(room, freeBytes))
      if (context !== undefined) log.info({ model: id }, `context: ${describeContext(context)}`)
      return withCache({ ...plan, contextLength: context?.contextLength ?? usualContext })
    },
    need: serverNeed,
    createUpstream: ({ url, apiKey, model }) =>
      createRemoteEngine({
        id,
        endpoints: [{ url, apiKey, weight: 1 }],
        profile: 'llama-server',
        isOwnServer: true,
        followsTemplate: !args.some((argument) => reasoningArgument.test(argument)),
        upstreamModel: model,
        connections: slots,
        adapters: adapters.map(({ name, scale }) => ({ name, scale })),
        log,
        converter,
        separatesMedia,
        ...formatSettingsOf(config),
        ...(defaults !== undefined && { sampling: defaults }),
      }),
  })
}

/** The kind of a draft model that only reads what the model computes: its file says it, where the settings do not. */
async function withDraftType({ draft, ...files }: ModelFiles): Promise<ModelFiles> {
  if (draft === undefined) return files
  const type = draft.type ?? (await draftTypeOf(draft.modelPath))
  return { ...files, draft: { ...draft, ...(type !== undefined && { type }) } }
}

function planOf(config: LlamaServerModelConfig, files: ModelFiles): Omit<ServerPlan, 'contextLength' | 'binary'> {
  const { slots, threads, gpuLayers, flashAttention, cacheTypeK, cacheTypeV, speculation, chatTemplate, args } = config
  return {
    ...files,
    slots,
    flashAttention,
    extraArguments: args,
    ...given({ threads, gpuLayers, cacheTypeK, cacheTypeV, speculation, chatTemplatePath: chatTemplate }),
    ...placementOf(config),
  }
}
