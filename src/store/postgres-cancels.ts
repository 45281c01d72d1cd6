import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { CancelBus } from '../contract/store.ts'
import type { PostgresLink } from './postgres-link.ts'

const channel = 'dragoman_cancels'

const messageSchema = z.object({
  from: z.string(),
  by: z.string(),
  isAdmin: z.boolean(),
  cancelId: z.string().exactOptional(),
  sessionId: z.string().exactOptional(),
  replyIds: z.array(z.string()),
})

/** Cancels as notifications of PostgreSQL. */
export function createPostgresCancels(link: PostgresLink): CancelBus {
  /** Notifications also come back to their sender. */
  const own = randomUUID()
  return {
    async publish(cancel) {
      await link.notify(channel, JSON.stringify({ from: own, ...cancel }))
      // Notifications have no answer.
      return 0
    },
    listen: (listener) =>
      link.subscribe(channel, (payload) => {
        const message = readMessage(payload)
        if (message === undefined || message.from === own) return
        const { from: _, ...cancel } = message
        listener(cancel)
      }),
  }
}

/** Undefined for what no server of this version sends: any client of the database can use the channel. */
function readMessage(payload: string): z.output<typeof messageSchema> | undefined {
  try {
    return messageSchema.parse(JSON.parse(payload))
  } catch {
    return undefined
  }
}
