import type { RequestContext } from '../contract/context.ts'
import type { Engine } from '../contract/engine.ts'
import type { Ticket } from '../contract/scheduler.ts'

/**
 * Runs work on the request's model with a ticket of its scheduler, which is left when the work settles. Rejects with `queue-full`.
 */
export async function withTicket<T>(
  context: RequestContext,
  work: (model: { readonly id: string; readonly engine: Engine; readonly ticket: Ticket }) => Promise<T>,
): Promise<T> {
  const { id, engine, scheduler } = context.model
  const ticket = scheduler.enter(context)
  try {
    return await work({ id, engine, ticket })
  } finally {
    ticket.leave()
  }
}
