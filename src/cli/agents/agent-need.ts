import type { Agent } from './agent.ts'

/** A token of English text and JSON is about four bytes. */
const bytesPerToken = 4
/** llama.cpp rounds contexts to this step. */
const contextStep = 256
/** The size for an agent that was not measured: that of Claude Code. */
const usualBytes = 48_600

/** The context that an agent needs, in tokens. */
type AgentNeed = {
  /** Its first request. */
  readonly first: number
  /** The tokens that it keeps free. */
  readonly reserved: number
  /** Leaves as much room for work as the first request takes. */
  readonly tokens: number
}

export function needOf({
  firstRequestBytes = usualBytes,
  reservedTokens: reserved = 0,
  shortestContext = 0,
}: Pick<Agent, 'firstRequestBytes' | 'reservedTokens' | 'shortestContext'>): AgentNeed {
  const first = Math.round(firstRequestBytes / bytesPerToken / 100) * 100
  return { first, reserved, tokens: Math.max(2 * first + reserved, shortestContext) }
}

type ModelRoom = {
  readonly contextLength: number
  readonly trained: number
  /** The longest contexts that fit the memory, by the number of slots: its own first, then fewer. */
  readonly longest: readonly { readonly slots: number; readonly contextLength: number }[]
}

type RoomPlan =
  | { readonly type: 'enough' }
  /** The model has enough when loaded with these settings. */
  | { readonly type: 'load'; readonly contextLength: number; readonly slots: number }
  | { readonly type: 'too-small'; readonly why: string }

/**
 * How a model gets the context that an agent needs, with as many slots as the memory allows: side tasks of an agent that share a slot with
 * its conversation make it read the whole conversation again. Twice the need is plenty.
 */
export function planRoom({ tokens }: AgentNeed, { contextLength, trained, longest }: ModelRoom): RoomPlan {
  if (contextLength >= tokens) return { type: 'enough' }
  if (trained < tokens) {
    const why = `The model was trained for ${trained} tokens: choose one that was trained for more`
    return { type: 'too-small', why }
  }
  const plenty = contextStep * Math.ceil((2 * tokens) / contextStep)
  const fit = longest.find((each) => each.contextLength >= tokens)
  if (fit !== undefined) return { type: 'load', slots: fit.slots, contextLength: Math.min(fit.contextLength, plenty) }
  const most = longest.at(-1)
  const room = most === undefined ? 'no more' : `${most.contextLength} with slots: ${most.slots}`
  const why = `The model was trained for ${trained} tokens, but memory.budget has room for ${room}: choose a smaller quantization or model, or raise memory.budget`
  return { type: 'too-small', why }
}

/** The message about a context that is too small for an agent. */
export function tooSmall(
  { title }: Agent,
  { first, reserved, tokens }: AgentNeed,
  model: { id: string; contextLength: number },
): string {
  const kept = reserved === 0 ? '' : `, and it keeps ${reserved} free`
  return `the context of ${model.id} is ${model.contextLength} tokens, and ${title} needs at least ${tokens}: its first request takes about ${first}${kept}`
}
