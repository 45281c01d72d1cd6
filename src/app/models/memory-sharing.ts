import type { Logger } from 'pino'
import type { LoadedConfig } from '../../config/load.ts'
import type { ConfiguredModel } from '../../config/models.ts'
import type { Engine, MemoryNeed } from '../../contract/engine.ts'
import type { Residency, Resident } from '../../contract/residency.ts'
import type { LoadOptions } from '../../engine/llama/channel/ipc.ts'
import type { ServerPlan } from '../../engine/llama-server/server-plan.ts'
import { type LoadPlan, memoryNeed } from '../../registry/gguf/memory-need.ts'
import { budgetBytes } from '../../registry/names/memory.ts'
import { ModelMemory } from '../../residency/model-memory.ts'
import type { ResidencyLimits } from '../../residency/rules.ts'

/** The memory that the models of a server share. */
export type MemorySharing = {
  readonly residency: Residency
  /** The model's part in it; undefined for one that needs no memory of this machine. */
  add(config: ConfiguredModel, engine: Engine): Resident | undefined
  /** The models share memory by other settings from now on. */
  change(memory: LoadedConfig['memory']): void
  /** Loads and unloads nothing any more. */
  close(): void
}

/** How soon an idle model makes room: a client takes less from one request to the next, unless it runs tools. */
const idleGraceMs = 1000
/** Measured without a model: the worker with llama.cpp, and llama-server. */
const workerBytes = 180e6
const serverBytes = 40e6
/** The context of a model of the embedded engine, unless configured. */
export const longestDefaultContext = 8192

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
    close: () => residency.close(),
  }
}

function limitsOf({ budget, minResidencyMs, unloadAfterMs }: LoadedConfig['memory']): ResidencyLimits {
  const idle = unloadAfterMs === 'never' ? {} : { idleTtlMs: unloadAfterMs }
  return { budgetBytes: budgetBytes(budget), minResidencyMs, idleGraceMs, ...idle }
}

/** What a model of the embedded engine needs. */
export function workerNeed(plan: LoadOptions): Promise<MemoryNeed> {
  return needOf(plan, { flashAttention: plan.flashAttention, longestDefaultContext, processBytes: workerBytes })
}

/** What a llama-server needs. */
export function serverNeed(plan: ServerPlan): Promise<MemoryNeed> {
  return needOf(plan, { flashAttention: plan.flashAttention !== false, processBytes: serverBytes })
}

function needOf(
  plan: LoadOptions | ServerPlan,
  process: Pick<LoadPlan, 'flashAttention' | 'longestDefaultContext' | 'processBytes'>,
) {
  const { modelPath, slots, contextLength, cacheTypeK, cacheTypeV, draft, adapters = [] } = plan
  const batchSize = 'batchSize' in plan ? plan.batchSize : undefined
  const mmprojPath = 'mmprojPath' in plan ? plan.mmprojPath : undefined
  return memoryNeed({
    modelPath,
    slots,
    ...process,
    ...(contextLength !== undefined && { contextLength }),
    ...(batchSize !== undefined && { batchSize }),
    ...(cacheTypeK !== undefined && { cacheTypeK }),
    ...(cacheTypeV !== undefined && { cacheTypeV }),
    ...(draft !== undefined && { draftPath: draft.modelPath }),
    otherPaths: [...(mmprojPath === undefined ? [] : [mmprojPath]), ...adapters.map(({ path }) => path)],
  })
}
