import { z } from 'zod'
import type { RequestedCancel } from '../../contract/context.ts'
import type { Bus, Topic } from '../../contract/server/shared.ts'

/** Cancels that a caller asked one process for; each of the others answers how many requests it cancelled. */
export const cancelTopic: Topic<RequestedCancel, number> = {
  name: 'cancels',
  message: z.object({
    by: z.string(),
    isAdmin: z.boolean(),
    cancelId: z.string().exactOptional(),
    sessionId: z.string().exactOptional(),
    replyIds: z.array(z.string()),
  }),
  answer: z.number(),
}

/** Cancels in all other processes. Resolves with how many requests they reported as cancelled. */
export async function cancelElsewhere(bus: Pick<Bus, 'publish'> | undefined, cancel: RequestedCancel): Promise<number> {
  const counts = (await bus?.publish(cancelTopic, cancel)) ?? []
  return counts.reduce((sum, count) => sum + count, 0)
}
