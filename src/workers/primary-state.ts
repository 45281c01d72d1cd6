import type { z } from 'zod'
import type { UsageCounter } from '../contract/quota.ts'
import type { DrainChange, PresetChoice } from '../contract/server/siblings.ts'
import { Link, type Port } from './link.ts'
import { type Answer, type Duty, type DutyAnswer, dutyAnswerSchemas, type Question, questionSchema } from './messages.ts'
import { type MetricList, mergeMetrics, renderMetrics, whatCounts } from './sum-metrics.ts'

/** A worker that does not answer in this time is left out: it is busy, or about to end. */
const answerWithinMs = 2000

/** A worker, and what it holds of what all share. */
type Member = {
  readonly link: Link
  readonly locks: Set<string>
  metrics: MetricList
}

/** The worker's end of the primary state. */
export type PrimaryPort = {
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
  /** The counts of processes that have ended. */
  #endedMetrics: MetricList = []
  /** What was last chosen, for processes that start later. */
  preset: PresetChoice | undefined
  /** The servers out of use, for the same. */
  drains: readonly DrainChange[] = []

  constructor(usage: UsageCounter) {
    this.#usage = usage
  }

  connect(port: Port): PrimaryPort {
    const member: Member = {
      link: new Link(port, (question) => this.#answer(member, questionSchema.parse(question))),
      locks: new Set(),
      metrics: [],
    }
    this.#members.add(member)
    return { take: (message) => member.link.take(message), close: () => this.#leave(member) }
  }

  #answer(member: Member, question: Question): Promise<Answer<Question['type']>> | Answer<Question['type']> {
    switch (question.type) {
      case 'read-usage':
        return this.#usage.read(question.account)
      case 'take':
        return this.#usage.take(question.account, question.share, question.limits).then((usage) => usage ?? null)
      case 'settle':
        return this.#usage.settle(question.account, question.settlement)
      case 'cancel':
        return this.#cancelElsewhere(member, question)
      case 'decide':
        return this.#ask(this.#othersThan(member), question).then((answers) => answers.some(Boolean))
      case 'lock':
        if (this.#locked.has(question.name)) return false
        this.#locked.add(question.name)
        member.locks.add(question.name)
        return true
      case 'unlock':
        if (member.locks.delete(question.name)) this.#locked.delete(question.name)
        return null
      case 'metrics':
        return this.#renderMetrics()
      case 'ready':
        return this.#ask([...this.#members], { type: 'ready' }).then((answers) => answers.every(Boolean))
      case 'preset':
        this.preset = question.choice
        return this.#ask([...this.#members], question).then(() => null)
      case 'drain':
        this.#noteDrain(question.change)
        return this.#ask([...this.#members], question).then(() => null)
      case 'passed':
        return this.#ask(this.#othersThan(member), question).then(() => null)
      case 'activity':
        return this.#ask(this.#othersThan(member), question).then((pages) => pages.filter((page) => page !== null))
      case 'request':
        return this.#ask(this.#othersThan(member), question).then((found) => found.find((one) => one !== null) ?? null)
    }
  }

  #noteDrain({ model, url, isDraining }: DrainChange): void {
    this.drains = this.drains.filter((drain) => drain.model !== model || drain.url !== url)
    if (isDraining) this.drains = [...this.drains, { model, url, isDraining }]
  }

  async #cancelElsewhere(member: Member, { cancel }: Extract<Question, { type: 'cancel' }>): Promise<number> {
    const counts = await this.#ask(this.#othersThan(member), { type: 'cancel', cancel })
    return counts.reduce((sum, count) => sum + count, 0)
  }

  #othersThan(member: Member): readonly Member[] {
    return [...this.#members].filter((other) => other !== member)
  }

  async #renderMetrics(): Promise<string> {
    const members = [...this.#members]
    await Promise.all(
      members.map(async (member) => {
        const [metrics] = await this.#ask([member], { type: 'metrics' })
        if (metrics !== undefined) member.metrics = metrics as MetricList
      }),
    )
    return renderMetrics([this.#endedMetrics, ...members.map(({ metrics }) => metrics)])
  }

  /** The answers of all workers that answer. */
  async #ask<Type extends Duty['type']>(
    members: readonly Member[],
    duty: Extract<Duty, { type: Type }>,
  ): Promise<DutyAnswer<Type>[]> {
    const schema = dutyAnswerSchemas[duty.type as Type] as unknown as z.ZodType<DutyAnswer<Type>>
    const answers = members.map(({ link }) => withinTime(link.ask(duty, schema)))
    return (await Promise.all(answers)).filter((answer) => answer !== undefined) as DutyAnswer<Type>[]
  }

  #leave(member: Member): void {
    if (!this.#members.delete(member)) return
    member.link.close()
    for (const name of member.locks) this.#locked.delete(name)
    this.#endedMetrics = mergeMetrics([this.#endedMetrics, whatCounts(member.metrics)])
  }
}

/** Undefined when it fails or takes too long. */
async function withinTime<T>(answer: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, answerWithinMs, undefined)
  })
  const known = await Promise.race([answer.catch(() => undefined), late])
  clearTimeout(timer)
  return known
}
