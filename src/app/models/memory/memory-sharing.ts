import type { Logger } from 'pino'
import { given } from '../../../base/json.ts'
import type { LoadedConfig } from '../../../config/load.ts'
import type { ConfiguredModel } from '../../../config/models.ts'
import type { Engine, MemoryNeed } from '../../../contract/engine.ts'
import type { Residency, Resident } from '../../../contract/residency.ts'
import type { LoadOptions } from '../../../engine/llama/channel/ipc.ts'
import type { ServerPlan } from '../../../engine/llama-server/server-plan.ts'
import type { ModelFiles, ModelWithFiles } from '../../../lifecycle/fetch-files.ts'
import { type ContextChoice, type ContextRoom, chooseContext } from '../../../registry/gguf/choose-context.ts'
import { type LoadPlan, memoryNeed } from '../../../registry/gguf/memory-need.ts'
import { budgetBytes } from '../../../registry/names/memory.ts'
import { ModelMemory } from '../../../residency/model-memory.ts'
import type { ResidencyLimits } from '../../../residency/rules.ts'

export type MemorySharing = {
  readonly residency: Residency
  /** The model's part in it; undefined for one that needs no memory of this machine. */
  add(config: ConfiguredModel, engine: Engine): Resident | undefined
  /** The models share memory by other settings from now on. */
  change(memory: LoadedConfig['memory']): void
  /** The memory for a model whose configuration names no context. */
  room(): ContextRoom
  /** Loads and unloads nothing any more. */
  close(): void
}

/** How soon an idle model makes room: a client takes less from one request to the next, unless it runs tools. */
const idleGraceMs = 1000
/** Measured without a model: the worker with llama.cpp, and llama-server. */
const workerBytes = 180e6
const serverBytes = 40e6
/** llama-server's own default. */
const usualPromptBytes = 8 * 2 ** 30

export function shareMemory({ memory }: Pick<LoadedConfig, 'memory'>, log: Logger): MemorySharing {
  const residency = new ModelMemory({
    ...limitsOf(memory),
    now: () => performance.now(),
    log,
  })
  return {
    residency,
    add(config, engine) {
      if (config.engine !== 'llama' && config.engine !== 'llama-server') return undefined
      const { id, load, unloadAfterMs } = config
      const idle = unloadAfterMs === undefined ? {} : { idleTtlMs: unloadAfterMs === 'never' ? Infinity : unloadAfterMs }
      return residency.add({ id, engine, isPinned: load === 'start', ...idle })
    },
    change: (next) => residency.changeLimits(limitsOf(next)),
    room: () => roomFor(residency.memory().budgetBytes, residency.pinned),
    close: () => residency.close(),
  }
}

/** Each of the models that load at start gets the same share, and one share stays for others. */
export function roomFor(budgetBytes: number, models: number): ContextRoom {
  return { budgetBytes, shareBytes: Math.floor(budgetBytes / (1 + Math.max(1, models))) }
}

function limitsOf({ budget, minResidencyMs, unloadAfterMs }: LoadedConfig['memory']): ResidencyLimits {
  const idle = unloadAfterMs === 'never' ? {} : { idleTtlMs: unloadAfterMs }
  return { budgetBytes: budgetBytes(budget), minResidencyMs, idleGraceMs, ...idle }
}

/** The memory that a model of the embedded engine needs. */
export function workerNeed(plan: LoadOptions): Promise<MemoryNeed> {
  return memoryNeed(planOf(plan))
}

export function serverNeed(plan: ServerPlan): Promise<MemoryNeed> {
  return memoryNeed(planOf(plan))
}

/** The memory in which a llama-server keeps prompts besides its slots, if its model leaves this much of the budget; undefined: its default. */
export function promptCacheBytes(spareBytes: number): number | undefined {
  const bytes = Math.floor(Math.max(0, spareBytes / 2))
  return bytes < usualPromptBytes ? bytes : undefined
}

/** The context of a model whose configuration names none. */
export function defaultContext(plan: MemoryPlan, room: ContextRoom): Promise<ContextChoice | undefined> {
  return chooseContext(planOf(plan), room)
}

type Expected = ModelWithFiles & { readonly prefixCache?: unknown }

/** As `defaultContext`, before it is loaded: files that are not named do not count, nor do kept prefixes. */
export function expectedContext(config: Expected, files: ModelFiles, room: ContextRoom): Promise<ContextChoice | undefined> {
  return defaultContext(expectedPlan(config, files), room)
}

/** The memory of a load with this context. */
export function expectedNeed(config: Expected, files: ModelFiles, contextLength: number): Promise<MemoryNeed> {
  return memoryNeed(planOf({ ...expectedPlan(config, files), contextLength }))
}

function expectedPlan({ draft: _, adapters: __, prefixCache: ___, ...settings }: Expected, files: ModelFiles): MemoryPlan {
  return { ...settings, ...files }
}

/** The facts that the memory of a process depends on. `binary`: the program of a llama-server. */
type MemoryPlan = Pick<LoadOptions, 'modelPath' | 'slots' | 'contextLength' | 'longestContext' | 'batchSize' | 'prefixCache'> &
  Pick<ServerPlan, 'flashAttention' | 'mmprojPath'> & {
    readonly cacheTypeK?: string | undefined
    readonly cacheTypeV?: string | undefined
    readonly binary?: string
    readonly draft?: { readonly modelPath: string; readonly type?: string; readonly maxTokens?: number } | undefined
    readonly speculation?: { readonly type: string; readonly maxTokens: number } | undefined
    readonly adapters?: readonly { readonly path: string }[] | undefined
  }

function planOf(plan: MemoryPlan): LoadPlan {
  const { modelPath, slots, longestContext, contextLength = longestContext, batchSize, cacheTypeK, cacheTypeV } = plan
  const { draft, speculation, adapters = [], mmprojPath, binary, prefixCache } = plan
  return {
    modelPath,
    slots,
    flashAttention: plan.flashAttention !== false,
    processBytes: binary === undefined ? workerBytes : serverBytes,
    ...given({ contextLength, batchSize, cacheTypeK, cacheTypeV, draft }),
    ...(speculation?.type === 'mtp' && { headTokens: speculation.maxTokens }),
    ...(typeof prefixCache?.memoryBytes === 'number' && { prefixBytes: prefixCache.memoryBytes }),
    otherPaths: [...(mmprojPath === undefined ? [] : [mmprojPath]), ...adapters.map(({ path }) => path)],
  }
}
