/** What llama.cpp logs as errors when a pass is interrupted (`GGML_STATUS_ABORTED` is 1; `llama_decode` turns it into 2). */
const expectedErrors = /compute_async failed with error 1\b|compute status: 1\b|failed to decode, ret = 2\b/

/** Whether this logged error only says that a pass was interrupted. */
export const isOfInterrupt = (logged: string): boolean => expectedErrors.test(logged)

const passResults: Readonly<Record<number, string>> = { 1: 'the context has no room for it', 2: 'it was interrupted' }

/** The error of a pass that returned this code, which is not 0. */
export function passError(code: number): Error {
  return new Error(`a pass failed: ${passResults[code] ?? `llama_decode returned ${code}`}`)
}
