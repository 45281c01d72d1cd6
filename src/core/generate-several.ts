import { setMaxListeners } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Emit } from '../base/emit.ts'
import { addUsage } from '../canonical/add-usage.ts'
import type { RequestContext } from '../contract/context.ts'
import type { GenerationEvent, Timings, Usage } from '../contract/event.ts'
import type { GenerationRequest } from '../contract/request.ts'
import type { Ticket } from '../contract/scheduler.ts'
import { estimatePrompt } from './estimate-tokens.ts'
import { costOf } from './take-slot.ts'

type Totals = { readonly usage: Usage; readonly timings: Timings }
type Around = {
  readonly signal: AbortSignal
  readonly emit: Emit<GenerationEvent>
  /** Creates the ticket that the requests run on. */
  enter(): Ticket
}
type Several = Pick<Around, 'emit' | 'enter'> & {
  readonly context: RequestContext
  runOne(request: GenerationRequest, around: Around): Promise<void>
  /** Called with the index of the request whose failure ends all. */
  onFailed?(index: number): void
}

const noTotals: Totals = {
  usage: { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, reasoningTokens: 0 },
  timings: {},
}

/**
 * Runs requests as one stream: one start, consecutive choice numbers, and the summed usage at the end. They run one after the other on the
 * ticket of `enter`, and once the first has started also on slots that nobody else wants. The first failure ends all.
 */
export async function generateSeveral(
  requests: readonly GenerationRequest[],
  { context, emit, enter, runOne, onFailed }: Several,
): Promise<void> {
  const { scheduler } = context.model
  const failed = new AbortController()
  const signal = AbortSignal.any([context.signal, failed.signal])
  // Each running request adds a listener.
  setMaxListeners(0, signal)
  const send = oneByOne(emit)
  const beside: Promise<void>[] = []
  let totals = noTotals
  let choices = 0
  let next = 0
  let hasStarted = false
  let failure: { readonly index: number; readonly error: unknown } | undefined

  function take() {
    const index = next
    const request = requests[index] as GenerationRequest
    const firstChoice = choices
    next += 1
    choices += request.choices
    const inner: Emit<GenerationEvent> = (event) => {
      switch (event.type) {
        case 'error':
          throw event.error
        case 'usage':
          totals = addTotals(totals, event)
          return undefined
        case 'start': {
          if (index > 0) return undefined
          // Without the input count of the first prompt, which is not that of all.
          const { inputTokens: _, ...start } = event
          const pending = send(start)
          hasStarted = true
          runBeside()
          return pending
        }
        case 'prompt-read':
        case 'prompt-progress':
          return index === 0 ? send(event) : undefined
        default:
          return send({ ...event, choice: event.choice + firstChoice })
      }
    }
    const run = async (enterOne: () => Ticket) => {
      try {
        // Thousands of short prompts must not hold up other work.
        if (index > 0) await nextTurn()
        await runOne(request, { signal, emit: inner, enter: enterOne })
      } catch (error) {
        failure ??= { index, error }
        failed.abort(error)
      }
    }
    return { request, run }
  }

  /** Takes free slots, but leaves one for each request that has entered and may ask for it. */
  function runBeside(): void {
    const isOpen = () => hasStarted && next < requests.length && !signal.aborted
    const isFree = ({ slots, busy, queued } = scheduler.load) => busy + queued < slots
    while (isOpen() && isFree()) beside.push(runOnFreeSlot())
  }

  async function runOnFreeSlot(): Promise<void> {
    const ticket = scheduler.enter(context, 'part')
    const { request, run } = take()
    // Before the request is prepared, so that no other caller takes the slot meanwhile.
    const known = { inputTokens: estimatePrompt(request.prompt) }
    const granted = ticket.slot(costOf(request, known, { later: [], principal: context.principal }), signal)
    granted?.catch(() => undefined)
    await run(() => ({ ...ticket, slot: () => granted }))
    ticket.leave()
    runBeside()
  }

  while (next < requests.length && failure === undefined) {
    await take().run(enter)
    runBeside()
  }
  await Promise.all(beside)
  if (failure !== undefined) {
    onFailed?.(failure.index)
    throw failure.error
  }
  await emit({ type: 'usage', ...totals })
}

/** Serializes the events of several emitters: while the reader is busy with one, the others wait. */
function oneByOne<Event>(emit: Emit<Event>): Emit<Event> {
  let last: Promise<void> | undefined
  return (event) => {
    const reading = last === undefined ? emit(event) : last.then(() => emit(event))
    if (reading === undefined) return undefined
    const current = reading.finally(() => {
      if (last === current) last = undefined
    })
    last = current
    return current
  }
}

function addTotals(before: Totals, { usage, timings }: Totals): Totals {
  return {
    usage: addUsage(before.usage, usage),
    timings: addTimings(before.timings, timings),
  }
}

function addTimings(before: Timings, more: Timings): Timings {
  const keys = new Set([...Object.keys(before), ...Object.keys(more)]) as Set<keyof Timings>
  const sums = [...keys].map((key) => [key, (before[key] ?? 0) + (more[key] ?? 0)] as const)
  const firstMs = [before, more].flatMap(({ firstTokenMs }) => firstTokenMs ?? [])
  const totalMs = Math.max(before.totalMs ?? 0, more.totalMs ?? 0)
  return { ...Object.fromEntries(sums), totalMs, ...(firstMs.length > 0 && { firstTokenMs: Math.min(...firstMs) }) }
}
