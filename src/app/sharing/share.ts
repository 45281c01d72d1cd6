import { messageOf } from '../../contract/errors.ts'
import type { Bus, Carrier, Shared } from '../../contract/server/shared.ts'
import { Documents } from './documents.ts'

type WarningLog = { warn(facts: object, message: string): void }

/**
 * What this process shares with those that the carriers reach: messages go over all carriers, documents, counts and locks are with the
 * first. Undefined without a carrier.
 */
export function share(carriers: readonly (Carrier | undefined)[], log: WarningLog): Shared | undefined {
  const all = carriers.filter((carrier) => carrier !== undefined)
  const [first] = all
  if (first === undefined) return undefined
  /** Those whose last message did not arrive. */
  const away = new Set<Carrier>()
  const bus: Bus = {
    async publish(topic, message) {
      const answers = all.map(async (carrier) => {
        try {
          const given = await carrier.publish(topic.name, message, topic.answer !== undefined)
          away.delete(carrier)
          return given
        } catch (error) {
          if (!away.has(carrier))
            log.warn({ topic: topic.name, reason: messageOf(error) }, 'a message did not reach other processes')
          away.add(carrier)
          return []
        }
      })
      const given = (await Promise.all(answers)).flat()
      return given.map((answer) => topic.answer?.safeParse(answer).data).filter((answer) => answer !== undefined)
    },
    async subscribe(topic, listener, onGap = () => undefined) {
      // Any client of the database can publish, too.
      const hear = (message: unknown) => {
        const { data } = topic.message.safeParse(message)
        return data && listener(data)
      }
      await Promise.all(all.map((carrier) => carrier.subscribe(topic.name, hear, onGap)))
    },
  }
  return { ...bus, documents: new Documents(first.documents, bus), usage: first.usage, lock: (name) => first.lock(name) }
}
