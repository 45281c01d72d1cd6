import type { RequestContext } from '../contract/context.ts'
import type { Engine } from '../contract/engine.ts'
import type { Ticket } from '../contract/scheduler.ts'

/**
 * Does something on the request's model within the bounds that generations have: throws `queue-full` when too many are there, and
 * gives up place and slot when the work has settled.
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
