import type { RequestContext } from '../../contract/context.ts'
import type { Ranking, RankRequest } from '../../contract/engine.ts'
import { AppError } from '../../contract/errors.ts'
import { estimateText } from '../estimate-tokens.ts'
import { originOf } from '../origin-of.ts'
import { takeSlot } from '../take-slot.ts'
import { workInTime } from '../time-limits.ts'
import { withTicket } from './with-ticket.ts'

/** Scores texts with the ranking head, on a slot of the model. `model` is the id of the model that served. */
export function rank(request: RankRequest, context: RequestContext): Promise<Ranking & { readonly model: string }> {
  const { signal } = context
  return withTicket(context, async ({ id, engine, ticket }) => {
    const { ranker } = engine.capabilities
    if (ranker === undefined) {
      const message = `the engine of model '${id}' does not score texts; choose a reranking model of the embedded engine`
      throw new AppError('invalid-request', message, { at: ['model'] })
    }
    await ticket.ready(signal)
    const { query = '', texts } = request
    // The query is read with each text.
    const inputTokens = texts.reduce((sum, text) => sum + estimateText(query) + estimateText(text), 0)
    await takeSlot(ticket, { inputTokens, maxOutputTokens: 0 }, context)
    const ranking = await workInTime(context, () => ranker.rank(request, signal, { origin: originOf(context) }))
    ticket.charge(ranking.inputTokens)
    context.watch?.hasRead(ranking.inputTokens)
    signal.throwIfAborted()
    return { ...ranking, model: id }
  })
}
