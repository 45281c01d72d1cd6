import type { Logger } from 'pino'
import type { LlamaServerModelConfig } from '../config/schema.ts'
import type { Engine } from '../contract/engine.ts'
import { LlamaServerEngine } from '../engine/llama-server/engine.ts'
import type { ServerPlan } from '../engine/llama-server/server-plan.ts'
import { createRemoteEngine } from '../engine/remote/engine.ts'
import type { Source } from '../registry/sources.ts'

type LlamaServerParts = {
  readonly log: Logger
  /** Finds or fetches a file; resolves with its path. */
  fetchFile(sources: readonly Source[], options: { readonly signal: AbortSignal; readonly sha256?: string }): Promise<string>
}

/** An engine that runs a configured llama-server as a child process. Nothing is started yet. */
export function createLlamaServer(config: LlamaServerModelConfig, { log, fetchFile }: LlamaServerParts): Engine {
  const { id, slots, toolFormat, defaults } = config
  return new LlamaServerEngine({
    id,
    log,
    locate: (signal) =>
      locate(config, (sources, sha256) => fetchFile(sources, { signal, ...(sha256 !== undefined && { sha256 }) })),
    createUpstream: ({ url, apiKey, model }) =>
      createRemoteEngine({
        id,
        endpoints: [{ url, apiKey, weight: 1 }],
        profile: 'llama-server',
        upstreamModel: model,
        connections: slots,
        log,
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
    ...(draft !== undefined && { draft: await locateDraft(draft, fetchFile) }),
  }
}

async function locateDraft(
  { source, ...options }: NonNullable<LlamaServerModelConfig['draft']>,
  fetchFile: Fetch,
): Promise<NonNullable<ServerPlan['draft']>> {
  return { modelPath: await fetchFile(source), ...options }
}
