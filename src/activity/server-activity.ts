import type { Activity, ActivityPage, ActivityQuestion, RequestSnapshot } from '../contract/server/activity.ts'
import type { Siblings } from '../contract/server/siblings.ts'
import type { ArrivedCall, WatchedRequest } from '../contract/watch.ts'
import type { ActivityLog } from './activity-log.ts'

/** The requests of all processes of a server: each process keeps its own, and is asked when somebody reads. */
export class ServerActivity implements Activity {
  readonly #own: ActivityLog
  readonly #siblings: Pick<Siblings, 'readActivity' | 'findRequest'> | undefined

  constructor(own: ActivityLog, siblings?: Pick<Siblings, 'readActivity' | 'findRequest'>) {
    this.#own = own
    this.#siblings = siblings
  }

  get run(): string {
    return this.#own.run
  }

  open(call: ArrivedCall): WatchedRequest {
    return this.#own.open(call)
  }

  async read(question: ActivityQuestion): Promise<ActivityPage> {
    const pages = [this.#own.read(question), ...((await this.#siblings?.readActivity(question)) ?? [])]
    return {
      requests: pages.flatMap(({ requests }) => requests),
      place: { ...question.place, ...Object.fromEntries(pages.map(({ run, cursor }) => [run, cursor])) },
      missed: pages.reduce((sum, { missed }) => sum + missed, 0),
      hasMore: pages.some(({ hasMore }) => hasMore),
    }
  }

  async find(id: string, owner: string | undefined): Promise<RequestSnapshot | undefined> {
    return this.#own.find(id, owner) ?? (await this.#siblings?.findRequest(id, owner))
  }
}
