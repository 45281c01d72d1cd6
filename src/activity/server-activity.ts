import { z } from 'zod'
import type { Activity, ActivityPage, ActivityQuestion, ProcessPage, RequestSnapshot } from '../contract/server/activity.ts'
import type { Bus, Topic } from '../contract/server/shared.ts'
import type { ArrivedCall, WatchedRequest } from '../contract/watch.ts'
import type { ActivityLog } from './activity-log.ts'

const pageTopic: Topic<ActivityQuestion, ProcessPage> = {
  name: 'activity',
  message: z.custom<ActivityQuestion>(),
  answer: z.custom<ProcessPage>(),
}
type SoughtRequest = { readonly id: string; readonly owner?: string }
/** Only the process that has the request answers. */
const requestTopic: Topic<SoughtRequest, RequestSnapshot> = {
  name: 'request',
  message: z.object({ id: z.string(), owner: z.string().exactOptional() }),
  answer: z.custom<RequestSnapshot>(),
}

/** The requests of all processes of a server: each process keeps its own, and is asked when somebody reads. */
export class ServerActivity implements Activity {
  readonly #own: ActivityLog
  readonly #siblings: Bus | undefined

  constructor(own: ActivityLog, siblings?: Bus) {
    this.#own = own
    this.#siblings = siblings
    void siblings?.subscribe(pageTopic, (question) => own.read(question))
    void siblings?.subscribe(requestTopic, ({ id, owner }) => own.find(id, owner))
  }

  get run(): string {
    return this.#own.run
  }

  open(call: ArrivedCall): WatchedRequest {
    return this.#own.open(call)
  }

  async read(question: ActivityQuestion): Promise<ActivityPage> {
    const pages = [this.#own.read(question), ...((await this.#siblings?.publish(pageTopic, question)) ?? [])]
    return {
      requests: pages.flatMap(({ requests }) => requests),
      place: { ...question.place, ...Object.fromEntries(pages.map(({ run, cursor }) => [run, cursor])) },
      missed: pages.reduce((sum, { missed }) => sum + missed, 0),
      hasMore: pages.some(({ hasMore }) => hasMore),
    }
  }

  async find(id: string, owner: string | undefined): Promise<RequestSnapshot | undefined> {
    const sought = { id, ...(owner !== undefined && { owner }) }
    return this.#own.find(id, owner) ?? (await this.#siblings?.publish(requestTopic, sought))?.[0]
  }
}
