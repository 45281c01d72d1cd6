import type { Ranking, RankRequest } from '../contract/engine.ts'
import { AppError } from '../contract/errors.ts'
import type { GenerateDeps } from './generate.ts'
import type { AskOptions } from './text-work.ts'
import { withPlace } from './with-place.ts'

/** Scores texts while holding a slot, like any generation. `model` is the id of the model that did. */
export function rank(
  deps: GenerateDeps,
  request: RankRequest,
  { model, signal }: AskOptions,
): Promise<Ranking & { readonly model: string }> {
  return withPlace(deps, model, async ({ id, engine, takeSlot }) => {
    if (engine.rank === undefined) {
      const message = `the engine of model '${id}' scores no texts; choose a reranking model of the embedded engine`
      throw new AppError('invalid-request', message, { param: 'model' })
    }
    await engine.ensureReady(signal)
    await takeSlot(signal)
    const ranking = await engine.rank(request, signal)
    signal.throwIfAborted()
    return { ...ranking, model: id }
  })
}
