import type { LlamaModelConfig } from '../../../config/schema.ts'
import { bytesOnGpu, fitWeights, usedUnnamed, type Weights } from '../../../engine/llama/channel/fit-weights.ts'
import type { LoadOptions } from '../../../engine/llama/channel/ipc.ts'
import type { ContextRoom } from '../../../registry/gguf/choose-context.ts'
import { estimateMemory, type MemorySettings } from '../../../registry/gguf/estimate-memory.ts'
import { readWeights } from '../../../registry/gguf/gguf-weights.ts'
import { computedOf, readFacts, usualContext } from '../../../registry/gguf/memory-need.ts'
import { formatBytes } from '../../../registry/names/format-bytes.ts'
import { expectedContext } from './memory-sharing.ts'

type Plan = Pick<LoadOptions, 'modelPath' | 'gpuLayers' | 'placement' | 'longestContext' | 'speculation' | 'draft'> &
  Omit<MemorySettings, 'contextLength' | 'heads' | 'rollback'> & { readonly contextLength?: number | undefined }

/** The settings of a model that say where its weights are. */
export function placementOf({
  experts,
  devices,
  tensorSplit,
  mainGpu,
  noMmap,
  lock,
}: Pick<LlamaModelConfig, 'experts' | 'devices' | 'tensorSplit' | 'mainGpu' | 'noMmap' | 'lock'>): Pick<
  LoadOptions,
  'placement'
> {
  const given = Object.entries({ experts, devices, tensorSplit, mainGpu, noMmap, lock }).filter(
    ([, value]) => value !== undefined,
  )
  return given.length === 0 ? {} : { placement: Object.fromEntries(given) }
}

/**
 * The weights of a model whose place is chosen by the free memory of GPUs: mixtures of experts, and models on some of the GPUs. Undefined where
 * the configuration says it, and for others, whose layers node-llama-cpp counts.
 */
export async function weightsToFit(plan: Plan): Promise<Weights | undefined> {
  const { modelPath, gpuLayers = 'auto', placement = {}, longestContext = usualContext, contextLength = longestContext } = plan
  if (gpuLayers !== 'auto' || placement.experts !== undefined || placement.tensorSplit !== undefined) return undefined
  const { speculation, draft } = plan
  const computed = await computedOf({ draft, ...(speculation?.type === 'mtp' && { headTokens: speculation.maxTokens }) })
  const weights = await weightsWith({ ...plan, ...computed, modelPath, contextLength })
  const isMixture = weights?.layers.some(({ expertBytes }) => expertBytes > 0) === true
  return isMixture || placement.devices !== undefined ? weights : undefined
}

type FilePlan = MemorySettings & { readonly modelPath: string }

async function weightsWith(plan: FilePlan): Promise<Weights | undefined> {
  const [weights, facts] = await Promise.all([readWeights(plan.modelPath), readFacts(plan.modelPath)])
  if (weights === undefined || facts === undefined) return undefined
  const { contextBytes, workBytes } = estimateMemory(facts, plan)
  return { ...weights, contextBytesOfLayer: Math.ceil(contextBytes / Math.max(1, weights.layers.length)), workBytes }
}

/** The layers of a model, with the output as one, and the memory that some of them take on a GPU. */
export async function gpuPart(plan: FilePlan) {
  const weights = await weightsWith(plan)
  return weights && { layerCount: weights.layers.length + 1, bytesOf: (gpuLayers: number) => bytesOnGpu(weights, gpuLayers) }
}

type Gpu = { readonly name: string; readonly freeBytes: number; readonly isShared?: true }

type Machine = { readonly path: string; readonly room: ContextRoom; readonly gpus: readonly Gpu[] }

/**
 * Where the weights of a model will be, in words, without a draft model, which may not be here yet; undefined where its configuration says
 * it, or node-llama-cpp counts its layers.
 */
export async function expectedPlacement(model: LlamaModelConfig, { path, room, gpus }: Machine): Promise<string | undefined> {
  const context = model.contextLength === undefined ? await expectedContext(model, { modelPath: path }, room) : undefined
  const longestContext = context?.contextLength
  const { draft: _, ...settings } = model
  const weights = await weightsToFit({
    ...settings,
    ...placementOf(model),
    modelPath: path,
    ...(longestContext !== undefined && { longestContext }),
  })
  const { devices, mainGpu } = model
  const named = devices === undefined ? usedUnnamed(gpus) : devices.flatMap((name) => gpus.find((gpu) => gpu.name === name) ?? [])
  return weights && describeFit(weights, mainGpu === undefined ? named : named.slice(mainGpu, mainGpu + 1))
}

function describeFit(weights: Weights, gpus: readonly Gpu[]): string {
  const free = gpus.map((gpu) => gpu.freeBytes)
  const { gpuLayers, experts, gpuBytes } = fitWeights(weights, free)
  const freeBytes = free.reduce((sum, bytes) => sum + bytes, 0)
  const layers = weights.layers.length
  const which = gpus.length > 1 ? `${gpus.length} GPUs` : 'the GPU'
  if (gpuLayers === 0) return `all layers in the memory of the machine: ${formatBytes(freeBytes)} of ${which} are free`
  const moved = gpuLayers > layers ? `all ${layers} layers` : `${gpuLayers - 1} of ${layers} layers`
  const without = experts === 0 ? '' : ` without the experts of ${experts >= layers ? 'all' : `the first ${experts}`} layers`
  return `${moved} on ${which}${without}: about ${formatBytes(gpuBytes)} of ${formatBytes(freeBytes)} free`
}
