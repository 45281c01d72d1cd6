import type { Primary } from '../contract/server/shared.ts'
import { type Answer, type Args, type Calls, calls, deliverySchema, metricsTopic } from './calls.ts'
import { Link, type Port } from './link.ts'

/** A worker's end of the primary state. */
export type Membership = {
  readonly primary: Primary
  /** Returns whether the message was one of the primary state. */
  take(message: unknown): boolean
}

/** The state that a worker shares with the others, through the primary process at the other end of the port. */
export function joinPrimary(port: Port): Membership {
  const listeners = new Map<string, ((message: unknown) => unknown)[]>()
  const link = new Link(port, (delivery) => {
    const { topic, message } = deliverySchema.parse(delivery)
    return Promise.all((listeners.get(topic) ?? []).map((hear) => hear(message)))
  })
  const ask = <Name extends keyof Calls>(call: Name, ...args: Args<Name>): Promise<Answer<Name>> =>
    link.ask({ call, args }, calls[call].answer) as Promise<Answer<Name>>
  const listen = (topic: string, listener: (message: unknown) => unknown) => {
    listeners.set(topic, [...(listeners.get(topic) ?? []), listener])
  }
  return {
    take: (message) => link.take(message),
    primary: {
      publish: (topic, message) => ask('publish', topic, message),
      subscribe: async (topic, listener) => listen(topic, listener),
      documents: {
        read: (name, laterThan) => ask('readDocument', name, laterThan),
        write: (name, row) => ask('writeDocument', name, row),
      },
      usage: {
        read: (account) => ask('readUsage', account),
        take: (account, share, limits) => ask('take', account, share, limits),
        settle: (account, settlement) => ask('settle', account, settlement),
      },
      async lock(name) {
        if (!(await ask('lock', name))) return undefined
        // When the primary process has ended, this one ends with it.
        return () => void ask('unlock', name).catch(() => undefined)
      },
      sumMetrics(read) {
        listen(metricsTopic, read)
        return () => ask('renderMetrics')
      },
    },
  }
}
