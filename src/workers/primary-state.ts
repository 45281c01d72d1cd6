import { orAborted } from '../base/time-limit.ts'
import type { UsageCounter } from '../contract/quota.ts'
import type { DocumentRow } from '../contract/server/shared.ts'
import { type Calls, callSchema, calls, deliveryAnswers, metricsTopic } from './calls.ts'
import { Link, type Port } from './link.ts'
import { type MetricList, mergeMetrics, renderMetrics, whatCounts } from './sum-metrics.ts'

/** A worker that does not answer in this time is left out: it is busy, or about to end. */
const answerWithinMs = 2000

/** A worker, and what it holds of what all share. */
type Member = {
  readonly link: Link
  readonly locks: Set<string>
  metrics: MetricList
}

type PrimaryPort = {
  /** Returns whether the message was one for the primary state. */
  take(message: unknown): boolean
  /** The process has ended: what it held is free again. */
  close(): void
}

/** The state that the processes of a server share. It is in the primary process, and answers their questions. */
export class PrimaryState {
  readonly #usage: UsageCounter
  readonly #members = new Set<Member>()
  readonly #locked = new Set<string>()
  readonly #documents = new Map<string, DocumentRow>()
  /** The counts of processes that have ended. */
  #endedMetrics: MetricList = []

  constructor(usage: UsageCounter) {
    this.#usage = usage
  }

  connect(port: Port): PrimaryPort {
    const answer = (question: unknown) => {
      const { call, args } = callSchema.parse(question)
      const answering = answers[call] as (...args: unknown[]) => unknown
      return answering(...calls[call].args.parse(args))
    }
    const member: Member = { link: new Link(port, answer), locks: new Set(), metrics: [] }
    const answers = this.#answersFor(member)
    this.#members.add(member)
    return { take: (message) => member.link.take(message), close: () => this.#leave(member) }
  }

  #answersFor(member: Member): Calls {
    return {
      publish: (topic, message) => {
        const others = [...this.#members].filter((other) => other !== member)
        return this.#deliver(others, { topic, message })
      },
      readDocument: (name, laterThan) => {
        const row = this.#documents.get(name)
        return row !== undefined && row.version > laterThan ? row : undefined
      },
      writeDocument: (name, row) => {
        if (row.version !== (this.#documents.get(name)?.version ?? 0) + 1) return false
        this.#documents.set(name, row)
        return true
      },
      readUsage: (account) => this.#usage.read(account),
      take: (account, share, limits) => this.#usage.take(account, share, limits),
      settle: (account, settlement) => this.#usage.settle(account, settlement),
      lock: (name) => {
        if (this.#locked.has(name)) return false
        this.#locked.add(name)
        member.locks.add(name)
        return true
      },
      unlock: (name) => {
        if (member.locks.delete(name)) this.#locked.delete(name)
        return undefined
      },
      renderMetrics: () => this.#renderMetrics(),
    }
  }

  async #renderMetrics(): Promise<string> {
    const members = [...this.#members]
    await Promise.all(
      members.map(async (member) => {
        const [metrics] = await this.#deliver([member], { topic: metricsTopic, message: {} })
        if (metrics !== undefined) member.metrics = metrics as MetricList
      }),
    )
    return renderMetrics([this.#endedMetrics, ...members.map(({ metrics }) => metrics)])
  }

  /** What their listeners answer; workers that do not answer are left out. */
  async #deliver(members: readonly Member[], delivery: { topic: string; message: object }): Promise<unknown[]> {
    const late = AbortSignal.timeout(answerWithinMs)
    const answers = members.map(({ link }) => orAborted(link.ask(delivery, deliveryAnswers), late).catch(() => []))
    return (await Promise.all(answers)).flat()
  }

  #leave(member: Member): void {
    if (!this.#members.delete(member)) return
    member.link.close()
    for (const name of member.locks) this.#locked.delete(name)
    this.#endedMetrics = mergeMetrics([this.#endedMetrics, whatCounts(member.metrics)])
  }
}
