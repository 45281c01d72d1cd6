import type { RequestContext } from '../../contract/context.ts'
import type { ServiceBody, ServiceCall, ServiceSink, Services } from '../../contract/services.ts'
import { estimateText } from '../estimate-tokens.ts'
import { originOf } from '../origin-of.ts'
import { takeSlot } from '../take-slot.ts'
import { RunClock } from '../time-limits.ts'
import { refuseAddresses } from './refuse-addresses.ts'
import { withTicket } from './with-ticket.ts'

/** An estimate, since files have no tokens: a second of speech is about 16. */
const fileBytesPerToken = 1024

/** Passes a request on to the servers of a model, on a slot of it. Rejects with the engine's refusals, and for addresses in its fields. */
export async function callService(
  { services }: { readonly services: Services },
  call: ServiceCall,
  context: RequestContext,
  sink: ServiceSink,
): Promise<void> {
  const { signal } = context
  refuseAddresses(call.body)
  await withTicket(context, async ({ ticket }) => {
    await ticket.ready(signal)
    const expected = estimateBody(call.body)
    await takeSlot(ticket, { inputTokens: expected, maxOutputTokens: 0 }, context)
    ticket.charge(expected)
    const clock = new RunClock(context)
    try {
      await services.send({ origin: originOf(context), ...call }, timed(sink, clock), signal)
    } finally {
      clock.close()
    }
    signal.throwIfAborted()
  })
}

/** As `sink`, with a limit on the server's silence. */
function timed(sink: ServiceSink, clock: RunClock): ServiceSink {
  return {
    begin: (head) => {
      clock.advance()
      sink.begin(head)
    },
    write: (bytes) => {
      clock.advance()
      const reader = sink.write(bytes)
      return reader === undefined ? undefined : clock.pausedFor(reader)
    },
  }
}

/** An estimate of a request's tokens, for its caller's share. */
function estimateBody(body: ServiceBody): number {
  if (body.type !== 'form') return estimateText(JSON.stringify(body.fields))
  const costs = body.parts.map((part) =>
    'value' in part ? estimateText(part.value) : Math.ceil(part.bytes.length / fileBytesPerToken),
  )
  return costs.reduce((sum, cost) => sum + cost, 0)
}
