import type { MemoryNeed } from '../../contract/engine.ts'
import { formatBytes } from '../names/format-bytes.ts'
import { type LoadPlan, memoryNeed, usualContext } from './memory-need.ts'

/** The memory for a model whose configuration names no context. */
export type ContextRoom = {
  /** The memory for all models together. */
  readonly budgetBytes: number
  /** The share for a context longer than a chat needs: the rest is for other models and the system's cache. */
  readonly shareBytes: number
  /** The share is the free memory of the GPU that the whole model runs on. */
  readonly isOnGpu?: true
}

/** The share of a GPU that a model and its context may fill. */
const shareOfGpu = 0.9

/** The room of a model on a GPU with `freeBytes` free: a longer context would move a part of it to the CPU. */
export function onGpu(room: ContextRoom, freeBytes: number): ContextRoom {
  const shareBytes = Math.floor(freeBytes * shareOfGpu)
  return shareBytes === 0 || shareBytes >= room.shareBytes ? room : { ...room, shareBytes, isOnGpu: true }
}

/** The context that a model gets by default, and what decided it; all in tokens of one slot. */
export type ContextChoice = {
  readonly contextLength: number
  readonly trainedContextLength: number
  readonly slots: number
  /** The longest contexts that the whole budget has room for, by the number of slots. */
  readonly longest: readonly { readonly slots: number; readonly contextLength: number }[]
  readonly room: ContextRoom
}

/** The least context to choose: a model with less memory is refused with its need. */
const shortestContext = 1024

/**
 * The trained context, as far as its share of the memory allows; up to the usual context, it may take more than the share. Undefined if the
 * file does not record what the model was trained for.
 */
export async function chooseContext(plan: LoadPlan, room: ContextRoom): Promise<ContextChoice | undefined> {
  return contextFor(await memoryNeed(plan), { slots: plan.slots, room })
}

export function contextFor(
  need: Pick<MemoryNeed, 'longestContext'>,
  { slots, room }: { readonly slots: number; readonly room: ContextRoom },
): ContextChoice | undefined {
  const longestWith = (bytes: number, count: number) => need.longestContext(bytes, count) ?? 0
  const trained = need.longestContext(Number.POSITIVE_INFINITY)
  if (trained === undefined) return undefined
  const longest = longestOf(slots, (count) => longestWith(room.budgetBytes, count))
  const inShare = longestWith(room.shareBytes, slots)
  const usual = Math.min(usualContext, longestWith(room.budgetBytes, slots))
  const contextLength = Math.max(inShare, usual, Math.min(trained, shortestContext))
  return { contextLength, trainedContextLength: trained, slots, longest, room }
}

/** The longest contexts by the number of slots, halving it while that allows a longer one. */
export function longestOf(
  slots: number,
  longestWith: (slots: number) => number | undefined,
): { readonly slots: number; readonly contextLength: number }[] {
  const found: { slots: number; contextLength: number }[] = []
  for (let count = slots; count >= 1; count = Math.floor(count / 2)) {
    const contextLength = longestWith(count)
    if (contextLength !== undefined && contextLength > (found.at(-1)?.contextLength ?? 0))
      found.push({ slots: count, contextLength })
  }
  return found
}

/** One line for operators: what was chosen, why, and what changes it. */
export function describeContext({ contextLength, trainedContextLength: trained, slots, longest, room }: ContextChoice): string {
  if (contextLength === trained) return `${trained} tokens, all that the model was trained for`
  const bytes = formatBytes(room.shareBytes)
  const share = room.isOnGpu ? `${bytes} of the GPU` : `its share, ${bytes}, of memory.budget, ${formatBytes(room.budgetBytes)}`
  const why = `memory allows no more with slots: ${slots} (${share})`
  const more = longest.flatMap((fit) =>
    fit.contextLength > contextLength ? [`${fit.contextLength} with slots: ${fit.slots}`] : [],
  )
  const way = more.length === 0 ? 'a larger memory.budget raises it' : `contextLength can be up to ${more.join(', or ')}`
  return `${contextLength} of the ${trained} tokens that the model was trained for: ${why}; ${way}`
}
