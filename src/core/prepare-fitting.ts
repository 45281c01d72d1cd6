import type { Engine, PreparedGeneration } from '../contract/engine.ts'
import { AppError, type ContextOverflow } from '../contract/errors.ts'
import type { GenerationRequest } from '../contract/request.ts'

/** Prepares a request; an output limit that may be shortened gives way to what the context has room for. */
export function prepareFitting(engine: Engine, request: GenerationRequest, signal: AbortSignal): Promise<PreparedGeneration> {
  return engine.prepare(request, signal).catch((error: unknown) => {
    const { isMaxOutputAssumed, mayShortenOutput, minOutputTokens = 1 } = request
    const mayShorten = isMaxOutputAssumed === true || mayShortenOutput === true
    const room = mayShorten && error instanceof AppError ? roomIn(error.overflow) : 0
    if (room < Math.max(1, minOutputTokens)) throw error
    if (mayShortenOutput !== true) return engine.prepare({ ...request, maxOutputTokens: room }, signal)
    // The context is the limit then, and the engine says so when the output reaches it.
    const { maxOutputTokens: _, ...unlimited } = request
    return engine.prepare(unlimited, signal)
  })
}

function roomIn(overflow: ContextOverflow | undefined): number {
  return overflow === undefined || overflow.estimated === true ? 0 : overflow.contextLength - overflow.inputTokens
}
