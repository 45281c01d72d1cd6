import type { RequestContext } from '../contract/context.ts'
import type { Engine } from '../contract/engine.ts'
import type { Ticket } from '../contract/scheduler.ts'

/**
 * Runs work on the request's model with a ticket of its scheduler, which is left when the work settles. Rejects with `queue-full`,
 * and without entering the queue when the request was cancelled before.
 */
export async function withTicket<T>(
  context: RequestContext,
  work: (model: { readonly id: string; readonly engine: Engine; readonly ticket: Ticket }) => Promise<T>,
): Promise<T> {
  context.signal.throwIfAborted()
  const { id, engine, scheduler } = context.model
  const ticket = scheduler.enter(context)
  try {
    return await work({ id, engine, ticket })
  } finally {
    ticket.leave()
  }
}
