import type { RequestContext } from '../../contract/context.ts'
import type { Engine } from '../../contract/engine.ts'
import type { Ticket } from '../../contract/scheduler.ts'

export type TicketedModel = { readonly id: string; readonly engine: Engine; readonly ticket: Ticket }

/**
 * Runs work on the request's model with a ticket of its scheduler, and leaves when the work settles. Rejects as `Scheduler.enter`, and
 * without entering if the request is already cancelled.
 */
export async function withTicket<T>(
  context: RequestContext,
  work: (model: TicketedModel) => Promise<T>,
  use?: 'free',
): Promise<T> {
  context.signal.throwIfAborted()
  const { id, engine, scheduler } = context.model
  context.trace?.servedBy?.(id)
  if (use === undefined) context.watch?.began(id)
  const ticket = scheduler.enter(context, use)
  try {
    return await work({ id, engine, ticket })
  } finally {
    ticket.leave()
  }
}
