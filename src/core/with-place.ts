import type { Engine } from '../contract/engine.ts'
import type { GenerateDeps } from './generate.ts'

/** A model with room for one more request. */
export type PlacedModel = {
  readonly id: string
  readonly engine: Engine
  /** Waits for a slot; work that computes nothing needs none. */
  takeSlot(signal: AbortSignal): Promise<void>
}

/**
 * Does something on a model within the bounds that generations have: throws `queue-full` when too many are there, and
 * gives up place and slot when the work has settled. Throws `model-not-found`.
 */
export async function withPlace<T>(deps: GenerateDeps, name: string, work: (model: PlacedModel) => Promise<T>): Promise<T> {
  const { id, engine, admission } = deps.resolveModel(name)
  const place = admission.enter()
  try {
    return await work({ id, engine, takeSlot: (signal) => place.takeSlot(signal) })
  } finally {
    place.leave()
  }
}
