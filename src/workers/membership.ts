import type { UsageCounter } from '../contract/quota.ts'
import type { DrainChange, PresetChoice, SiblingDuties, Siblings } from '../contract/server/siblings.ts'
import type { CancelBus } from '../contract/store.ts'
import { Link, type Port } from './link.ts'
import { type Answer, answerSchemas, type Duty, type DutyAnswer, dutySchema, type Question } from './messages.ts'

/** A worker's end of the primary state. */
export type Membership = {
  readonly siblings: Siblings
  /** Returns whether the message was one of the primary state. */
  take(message: unknown): boolean
}

/** The state that a worker shares with the others, through the primary process at the other end of the port. */
export function joinPrimary(port: Port): Membership {
  let duties: SiblingDuties | undefined
  const link = new Link(port, (question) => perform(dutySchema.parse(question)))
  const ask = <Type extends Question['type']>(question: Extract<Question, { type: Type }>): Promise<Answer<Type>> =>
    link.ask(question, answerSchemas[question.type as Type]) as Promise<Answer<Type>>

  function perform(duty: Duty): Promise<DutyAnswer<Duty['type']>> | DutyAnswer<Duty['type']> {
    switch (duty.type) {
      case 'cancel':
        return duties?.cancel(duty.cancel) ?? 0
      case 'decide':
        return duties?.decide(duty.decision) ?? false
      case 'metrics':
        return duties === undefined ? [] : duties.readMetrics().then((metrics) => [...metrics])
      case 'ready':
        return duties?.isReady() ?? false
      case 'preset':
        duties?.usePreset(duty.choice)
        return null
      case 'drain':
        duties?.drain(duty.change)
        return null
      case 'passed':
        duties?.notePassed(duty.checks)
        return null
      case 'activity':
        return duties?.readActivity(duty.question) ?? null
      case 'request':
        return duties?.findRequest(duty.id, duty.owner) ?? null
    }
  }

  const cancels: CancelBus = {
    publish: (cancel) => ask({ type: 'cancel', cancel: { ...cancel, replyIds: [...cancel.replyIds] } }),
    // `join` has the listener.
    listen: async () => undefined,
  }
  const usage: UsageCounter = {
    read: (account) => ask({ type: 'read-usage', account }),
    take: async (account, share, limits) => (await ask({ type: 'take', account, share, limits })) ?? undefined,
    settle: (account, settlement) => ask({ type: 'settle', account, settlement }),
  }
  return {
    take: (message) => link.take(message),
    siblings: {
      usage,
      cancels,
      async lock(name) {
        if (!(await ask({ type: 'lock', name }))) return undefined
        return () => void ask({ type: 'unlock', name }).catch(ignore)
      },
      decide: (decision) => ask({ type: 'decide', decision }),
      renderMetrics: () => ask({ type: 'metrics' }),
      areReady: () => ask({ type: 'ready' }),
      async usePreset(choice: PresetChoice) {
        await ask({ type: 'preset', choice })
      },
      async drain(change: DrainChange) {
        await ask({ type: 'drain', change })
      },
      tellPassed: ({ model, urls }) => void ask({ type: 'passed', checks: { model, urls: [...urls] } }).catch(ignore),
      readActivity: (question) => ask({ type: 'activity', question }),
      findRequest: async (id, owner) => (await ask({ type: 'request', id, ...(owner !== undefined && { owner }) })) ?? undefined,
      join: (own) => {
        duties = own
      },
    },
  }
}

function ignore(_error: unknown): void {
  // The primary process has ended, and this one ends with it.
}
