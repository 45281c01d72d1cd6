import type { Logger } from 'pino'
import type { LlamaServerModelConfig } from '../config/schema.ts'
import type { Engine } from '../contract/engine.ts'
import type { MediaConverter } from '../contract/media-converter.ts'
import { LlamaServerEngine } from '../engine/llama-server/engine.ts'
import type { ServerPlan } from '../engine/llama-server/server-plan.ts'
import { createRemoteEngine } from '../engine/remote/engine.ts'
import { readProjectorType } from '../registry/gguf/projector-type.ts'
import type { Source } from '../registry/names/sources.ts'
import { locateAdapters, locateDraft } from './locate-files.ts'

type LlamaServerParts = {
  readonly log: Logger
  readonly converter: MediaConverter
  /** Finds or fetches a file; resolves with its path. */
  fetchFile(sources: readonly Source[], options: { readonly signal: AbortSignal; readonly sha256?: string }): Promise<string>
  /** Resolves when the memory that the server needs is reserved. */
  reserve(plan: ServerPlan, signal: AbortSignal): Promise<void>
}

/**
 * Projectors for which llama-server puts no token of its own between pictures. It looks for a cancel only where it reads text, so that it would
 * read any number of pictures to their end. The prompts of these models (LLaVA, MobileVLM) have a line break after a picture.
 */
const withoutSeparators: ReadonlySet<string | undefined> = new Set(['mlp', 'ldp', 'ldpv2'])

/** What says how the server thinks by default. */
const reasoningArgument = /^(?:-rea|--reasoning|--chat[-_]template[-_]kwargs)(?:=|$)/

/** An engine that runs a configured llama-server as a child process. Nothing is started yet. */
export function createLlamaServer(
  config: LlamaServerModelConfig,
  { log, converter, fetchFile, reserve }: LlamaServerParts,
): Engine {
  const { id, slots, toolFormat, defaults, adapters = [], args } = config
  let separatesMedia = false
  return new LlamaServerEngine({
    id,
    log,
    locate: async (signal) => {
      const fetch: Fetch = (sources, sha256) => fetchFile(sources, { signal, ...(sha256 !== undefined && { sha256 }) })
      const plan = await locate(config, fetch)
      const { mmprojPath } = plan
      separatesMedia = mmprojPath !== undefined && withoutSeparators.has(await readProjectorType(mmprojPath))
      await reserve(plan, signal)
      return plan
    },
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
        ...(toolFormat !== undefined && { toolFormat }),
        ...(defaults !== undefined && { sampling: defaults }),
      }),
  })
}

type Fetch = (sources: readonly Source[], sha256?: string) => Promise<string>

async function locate(config: LlamaServerModelConfig, fetchFile: Fetch): Promise<ServerPlan> {
  const { binary, source, sha256, mmproj, contextLength, slots, threads, gpuLayers, flashAttention, draft, args } = config
  return {
    binary,
    modelPath: await fetchFile(source, sha256),
    ...(mmproj !== undefined && { mmprojPath: await fetchFile(mmproj) }),
    contextLength,
    slots,
    flashAttention,
    extraArguments: args,
    ...(threads !== undefined && { threads }),
    ...(gpuLayers !== undefined && { gpuLayers }),
    ...(config.cacheTypeK !== undefined && { cacheTypeK: config.cacheTypeK }),
    ...(config.cacheTypeV !== undefined && { cacheTypeV: config.cacheTypeV }),
    ...(config.chatTemplate !== undefined && { chatTemplatePath: config.chatTemplate }),
    ...(config.adapters !== undefined && { adapters: await locateAdapters(config.adapters, fetchFile) }),
    ...(draft !== undefined && { draft: await locateDraft(draft, fetchFile) }),
  }
}
