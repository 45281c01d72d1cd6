import { toAppError, UpstreamError } from './transport/upstream-error.ts'

/** The boundary of the engine: inside, a failed exchange is an `UpstreamError`; callers of the engine get only `AppError`. */
export async function atEdge<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    return failAtEdge(error)
  }
}

/** Rethrows an error of such work in the form for callers. */
export function failAtEdge(error: unknown): never {
  throw error instanceof UpstreamError ? toAppError(error) : error
}
