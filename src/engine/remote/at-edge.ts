import { toAppError, UpstreamError } from './transport/upstream-error.ts'

/** The engine's edge: inside, a failed exchange is an `UpstreamError`; callers of the engine see `AppError` only. */
export async function atEdge<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    return failAtEdge(error)
  }
}

/** For a promise of such work: the error as callers see it. */
export function failAtEdge(error: unknown): never {
  throw error instanceof UpstreamError ? toAppError(error) : error
}
