import type { Ask, Exchange, Meanwhile, Server } from './probe/exchange.ts'
import { usageIn } from './probe/read.ts'
import { messageIn, type Row, short, unanswered, type Verdict } from './probe/row.ts'
import { gates } from './rows.ts'
import { type Address, sendAsk, sendMeanwhile } from './send.ts'
import { sendOverSocket } from './socket.ts'

export type Bounds = { readonly mostRequests: number; readonly mostMs: number }

export type Outcome = Verdict | { readonly outcome: 'not-run'; readonly why: string }

/** A check with its verdict and its requests, of which the last one decided. */
export type Judged = { readonly row: Row; readonly verdict: Outcome; readonly exchanges: readonly Exchange[] }

/** Sends each different request once, within bounds. */
export class Sender {
  readonly #address: Address
  readonly #bounds: Bounds
  readonly #startedMs = performance.now()
  readonly #known = new Map<string, Exchange>()
  #sent = 0
  #tokens = { input: 0, output: 0 }

  constructor(address: Address, bounds: Bounds) {
    this.#address = address
    this.#bounds = bounds
  }

  get spent() {
    return { requests: this.#sent, ms: Math.round(performance.now() - this.#startedMs), tokens: { ...this.#tokens } }
  }

  /** Undefined if a share of the bounds is used up. */
  async send(step: Ask | Meanwhile, share = 1): Promise<Exchange | undefined> {
    const key = JSON.stringify(step)
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const mostMs = this.#bounds.mostMs * share
    const leftMs = mostMs - (performance.now() - this.#startedMs)
    const count = 'besides' in step ? step.besides.length + 1 : 1
    if (leftMs < 1000 || this.#sent + count > this.#bounds.mostRequests * share) return undefined
    this.#sent += count
    const exchange = await this.#exchange(step, Math.floor(Math.min(leftMs, mostReplyMs)))
    // The run is over, which says nothing of the server.
    if (exchange.failure !== undefined && performance.now() - this.#startedMs >= mostMs - 50) return undefined
    const { input = 0, output = 0 } = usageIn(exchange)
    this.#tokens = { input: this.#tokens.input + input, output: this.#tokens.output + output }
    this.#known.set(key, exchange)
    return exchange
  }

  #exchange(step: Ask | Meanwhile, limitMs: number): Promise<Exchange> {
    if ('besides' in step) return sendMeanwhile(this.#address, step, limitMs)
    return step.socket === undefined ? sendAsk(this.#address, step, { limitMs }) : sendOverSocket(this.#address, step, limitMs)
  }
}

/** How long one reply may take. */
const mostReplyMs = 45_000

/** The share of the bounds for the checks before those of cancels, which run last. */
const shareBefore = 0.8

/** Runs checks one after the other: the server is never busy with two, but where a check says so. */
export async function* runRows(rows: readonly Row[], server: Server, sender: Sender): AsyncGenerator<Judged, void, void> {
  const hasCancels = rows.some(({ area }) => area === 'cancel')
  for (const row of rows) {
    const share = hasCancels && row.area !== 'cancel' ? shareBefore : 1
    const send: Send = (step) => sender.send(step, share)
    const gate = gates[row.area]?.(server)
    const opened = gate && (await send(gate))
    const closed = gate === undefined ? undefined : opened === undefined ? notRun : closedBy(opened)
    yield closed === undefined ? await runRow(row, server, send) : { row, verdict: closed, exchanges: opened ? [opened] : [] }
  }
}

const notRun: Outcome = { outcome: 'not-run', why: 'the time or the number of requests was used up' }

/** Why an area is not there. A failure of the server is left to the checks, which report it. */
function closedBy(exchange: Exchange): Outcome | undefined {
  const { status } = exchange
  const verdict = unanswered(exchange, { isOptional: true })
  if (verdict?.outcome !== 'absent') return undefined
  return { outcome: 'absent', why: `refused with ${status}: ${messageIn(exchange) ?? short(exchange.text)}` }
}

type Send = (step: Ask | Meanwhile) => Promise<Exchange | undefined>

async function runRow(row: Row, server: Server, send: Send): Promise<Judged> {
  const exchanges: Exchange[] = []
  const steps = row.steps(server)
  let next = steps.next()
  while (next.done !== true) {
    const exchange = await send(next.value)
    if (exchange === undefined) return { row, verdict: notRun, exchanges }
    exchanges.push(exchange)
    next = steps.next(exchange)
  }
  return { row, verdict: next.value, exchanges }
}
