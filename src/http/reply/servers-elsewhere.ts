import { z } from 'zod'
import type { Catalogue } from '../../contract/server/catalogue.ts'
import type { Bus, Topic } from '../../contract/server/shared.ts'

const loads = z.array(z.object({ host: z.string(), activeRequests: z.number(), outstandingTokens: z.number() }))

/** Asks the other processes of this server what the servers of a model have to do for them. */
const topic: Topic<{ readonly model: string }, readonly Readonly<z.output<typeof loads>[number]>[]> = {
  name: 'server-loads',
  message: z.object({ model: z.string() }),
  answer: loads,
}

/** Answers other processes of this server. */
export function answerElsewhere(siblings: Pick<Bus, 'subscribe'> | undefined, models: Pick<Catalogue, 'list'>): void {
  void siblings?.subscribe(topic, ({ model }) => models.list({}).find(({ id }) => id === model)?.servers)
}

type Counted = { readonly host: string; readonly activeRequests: number; readonly outstandingTokens?: number }

/** The servers of a model, with what they have to do for all processes of this server: who stops one must not cut off another's requests. */
export async function withElsewhere<Server extends Counted>(
  siblings: Pick<Bus, 'publish'> | undefined,
  model: string,
  servers: readonly Server[],
): Promise<readonly Server[]> {
  const elsewhere = ((await siblings?.publish(topic, { model })) ?? []).flat()
  return servers.map((server) => {
    const same = elsewhere.filter(({ host }) => host === server.host)
    const sum = (own: number, count: (load: (typeof same)[number]) => number) =>
      same.reduce((all, load) => all + count(load), own)
    const { activeRequests, outstandingTokens } = server
    return {
      ...server,
      activeRequests: sum(activeRequests, (load) => load.activeRequests),
      ...(outstandingTokens !== undefined && { outstandingTokens: sum(outstandingTokens, (load) => load.outstandingTokens) }),
    }
  })
}
