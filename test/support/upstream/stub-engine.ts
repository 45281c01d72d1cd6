import { inTurn } from '../../../src/base/emit.ts'
import type { Engine, PreparedGeneration } from '../../../src/contract/engine.ts'
import type { EngineEvent } from '../../../src/contract/event.ts'

/** A ready engine that can do nothing but what the test gives it. */
export function stubEngine(parts: Partial<Engine> = {}): Engine {
  return {
    state: { type: 'ready' },
    facts: {},
    capabilities: {},
    onState: () => () => undefined,
    ensureReady: async () => undefined,
    prepare: async () => {
      throw new Error('this engine generates nothing')
    },
    unload: async () => undefined,
    close: async () => undefined,
    ...parts,
  }
}

/** A ready engine whose answer to every request is these events; an error among them is thrown. */
export function playingEngine(
  steps: readonly (EngineEvent | Error)[],
  prepared: Partial<Omit<PreparedGeneration, 'run'>> = {},
): Engine {
  const play: PreparedGeneration['run'] = async (_, emit) =>
    inTurn(steps, (step) => {
      if (step instanceof Error) throw step
      return emit(step)
    })
  return stubEngine({ prepare: async () => ({ ...prepared, run: play }) })
}

/** The usage of a short answer. */
export const shortUsage: Extract<EngineEvent, { type: 'usage' }> = {
  type: 'usage',
  usage: { inputTokens: 1, cachedInputTokens: 0, outputTokens: 1, reasoningTokens: 0 },
  timings: {},
}
