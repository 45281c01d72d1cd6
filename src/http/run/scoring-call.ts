import type { RequestContext } from '../../contract/context.ts'
import type { ScoringCall } from '../../dialect/scoring/scoring.ts'
import { withModel } from './default-model.ts'
import type { Models, Watching } from './deps.ts'
import type { CallerContext } from './open-run.ts'
import { createCallHandler } from './serve-call.ts'

type Scoring<Result, Request> = {
  readonly decode: (body: unknown) => ScoringCall<Result, Request>
  /** It needs a model that ranks. */
  readonly ranks?: boolean
  readonly score: Scorer<Result, Request>
}
type Scorer<Result, Request> = (request: Request, context: RequestContext) => Promise<Result & { readonly model: string }>

export function createScoringHandler<Result, Request>(
  deps: Models & Watching,
  { decode, ranks = false, score }: Scoring<Result, Request>,
) {
  const wanted = { ...deps, ranks }
  return createCallHandler(deps, (body, { principal }) => {
    const { model, request, nameOf, ignored, encode } = decode(withModel(body, wanted, principal))
    const run = async (caller: CallerContext) =>
      encode(await score(request, { ...caller, model: await deps.models.find(model, caller.principal) }))
    return { ignored, nameOf, run }
  })
}
