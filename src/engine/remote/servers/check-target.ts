import { AppError } from '../../../contract/errors.ts'
import type { GenerationRequest } from '../../../contract/request.ts'
import { checkContextFit } from '../../context-fit.ts'
import { refuseMedia } from '../../refuse-media.ts'
import type { Target } from '../wire/chat-body.ts'

/** What a request asks of a server, in whatever words. */
export type Demand = {
  readonly request: GenerationRequest
  /** What the caller calls the model. */
  readonly model: string
  /** Undefined: it fits wherever it may go, or cannot be counted. */
  readonly inputTokens: number | undefined
}

/** Throws `unsupported-field` for the first part that the server does not read, `context-length-exceeded` for more than it holds. */
export function checkTarget({ request, model, inputTokens }: Demand, { contextLength, modalities }: Target): void {
  if (modalities !== undefined) {
    const reads = { text: true, ...modalities }
    refuseMedia(
      request,
      (kind) => reads[kind],
      (kind) => `model '${model}' reads no ${kind}: serve it with a projector (mmproj), or leave the part out`,
    )
  }
  if (inputTokens === undefined || contextLength === undefined) return
  checkContextFit({ inputTokens, outputTokens: request.maxOutputTokens, contextLength })
}

/** Whether an error is one server's inability, found without asking it, which another may not share. */
export function isInability(error: unknown): error is AppError {
  return error instanceof AppError && (error.code === 'unsupported-field' || error.code === 'context-length-exceeded')
}

/** What to tell the caller when no server can: a field before a length, and of lengths the one that was nearest to enough. */
export function mostTelling(refusals: Iterable<AppError>): AppError | undefined {
  let best: AppError | undefined
  for (const refusal of refusals) if (best === undefined || reachOf(refusal) > reachOf(best)) best = refusal
  return best
}

function reachOf({ overflow }: AppError): number {
  return overflow?.contextLength ?? Number.POSITIVE_INFINITY
}
