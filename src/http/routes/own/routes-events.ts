import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Principal } from '../../../contract/principal.ts'
import type { Activity, ActivityPlace, LogLines } from '../../../contract/server/activity.ts'
import { encodeRequest } from '../../../dialect/own/encode-request.ts'
import { encodeSample } from '../../../dialect/own/encode-sample.ts'
import { encodeLine, type LogLevel } from '../../../dialect/own/log-lines.ts'
import { decodeEvents, type Topic } from '../../../dialect/own/queries.ts'
import { authorize } from '../../access/auth.ts'
import { callerOf } from '../../access/caller.ts'
import { hidePaths } from '../../reply/error-reply.ts'
import { openEventStream } from '../../reply/event-stream.ts'
import type { GoesOn, Models, Operating, Replying, Watching } from '../../run/deps.ts'
import { describeServer } from './server-state.ts'

type EventsDeps = Models & Watching & Operating & Replying & { readonly goesOn: GoesOn }

/** How often a reader gets new events. */
const everyMs = 250
/** Turns between two looks at the models. */
const serverEvery = 4
/** Requests, or lines, in one event. */
const perEvent = 500

/** The scope that each topic requires. */
const scopeOf = { requests: 'inference', server: 'inference', load: 'metrics', logs: 'admin' } as const

/** Events about this server. Nothing is kept for a reader: it gets what is new since its last read, or how much it missed. */
export function addEventRoute(app: FastifyInstance, deps: EventsDeps): void {
  const { activity, history, lines } = deps
  if (activity === undefined || history === undefined || lines === undefined) return
  app.get('/api/events', { config: { scope: 'any', isPolled: true } }, async (request, reply) => {
    const caller = callerOf(request)
    const { topics: wanted, recent, level } = decodeEvents(request.query)
    const topics = topicsFor(caller, wanted)
    const resumed = readId(request, activity)
    const reader = new Reader({ ...deps, activity, lines, caller, level }, { topics, recent, resumed })
    let samples = 0
    const writer = openEventStream(deps, reply, { heartbeat: ': alive\n\n' })
    reply.hijack()
    try {
      for (let turn = 0; !reply.raw.destroyed && (await deps.goesOn(request)); turn++) {
        const { text, hasMore } = await reader.next(turn)
        let frames = text
        if (topics.has('load') && samples < history.next) {
          frames += frame('load', { samples: history.since(samples).map(encodeSample) })
          samples = history.next
        }
        if (frames !== '') writer.write(`${frames}id: ${reader.id}\nevent: read\ndata: {}\n\n`)
        await writer.waitForReader()
        if (!hasMore) await pause(everyMs)
      }
    } finally {
      writer.end()
    }
  })
}

type ReaderDeps = Models &
  Watching &
  Operating &
  Replying & {
    readonly activity: Activity
    readonly lines: LogLines
    readonly caller: Principal
    readonly level: LogLevel
  }
type Position = { readonly place: ActivityPlace; readonly line: number | undefined }

/** A reader's position in the events. */
class Reader {
  readonly #deps: ReaderDeps
  readonly #topics: ReadonlySet<Topic>
  readonly #readable: (message: string) => string
  readonly #recent: number
  #place: ActivityPlace | undefined
  #line: number
  #server = ''
  #hasBegun = false

  constructor(
    deps: ReaderDeps,
    { topics, recent, resumed }: { topics: ReadonlySet<Topic>; recent: number; resumed: Position | undefined },
  ) {
    this.#deps = deps
    this.#topics = topics
    this.#readable = deps.caller.scopes.has('admin') ? (message) => message : hidePaths
    this.#recent = recent
    this.#place = resumed?.place
    this.#line = resumed?.line ?? deps.lines.begin(recent)
  }

  /** The event to continue after, when a connection was lost. */
  get id(): string {
    const runs = Object.entries(this.#place ?? {}).map(([run, { ended, seen }]) => `${run}.${ended}.${seen}`)
    return `${this.#deps.activity.run}-${this.#line}-${runs.join('-')}`
  }

  async next(turn: number): Promise<{ readonly text: string; readonly hasMore: boolean }> {
    let text = ''
    let hasMore = false
    if (this.#topics.has('server') && turn % serverEvery === 0) text += await this.#readServer()
    if (this.#topics.has('requests')) {
      const page = await this.#deps.activity.read({
        recent: this.#recent,
        limit: perEvent,
        ...(this.#place !== undefined && { place: this.#place }),
        ...(!this.#deps.caller.scopes.has('admin') && { owner: this.#deps.caller.id }),
      })
      this.#place = page.place
      hasMore = page.hasMore
      // The first event is sent even if it is empty.
      if (page.requests.length > 0 || page.missed > 0 || !this.#hasBegun) {
        const requests = page.requests.map((each) => encodeRequest(each, this.#readable))
        text += frame('requests', { requests, missed: page.missed, more: page.hasMore })
      }
    }
    if (this.#topics.has('logs')) {
      const page = this.#deps.lines.read(this.#line, perEvent)
      this.#line = page.next
      const lines = page.lines.map((line) => encodeLine(line, this.#deps.level)).filter((line) => line !== undefined)
      if (lines.length > 0 || page.missed > 0 || !this.#hasBegun) text += frame('logs', { lines, missed: page.missed })
    }
    this.#hasBegun = true
    return { text, hasMore }
  }

  async #readServer(): Promise<string> {
    const json = JSON.stringify(await describeServer(this.#deps, this.#deps.caller))
    if (json === this.#server) return ''
    this.#server = json
    return `event: server\ndata: ${json}\n\n`
  }
}

function frame(event: string, data: object): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
}

/** The requested topics, or all that the key may have, except the log. Throws `forbidden`. */
function topicsFor(caller: Principal, wanted: readonly Topic[] | undefined): ReadonlySet<Topic> {
  const mayRead = (topic: Topic) => caller.scopes.has('admin') || caller.scopes.has(scopeOf[topic])
  if (wanted === undefined) return new Set((['requests', 'server', 'load'] as const).filter(mayRead))
  for (const topic of wanted) if (!mayRead(topic)) authorize(caller, scopeOf[topic])
  return new Set(wanted)
}

/** The position of a returning reader. Lines have numbers of one process: another one sends the recent ones. */
function readId({ headers }: FastifyRequest, { run }: Activity): Position | undefined {
  const [lineRun, line, ...runs] = String(headers['last-event-id'] ?? '').split('-', mostRuns)
  const place: Record<string, ActivityPlace[string]> = {}
  for (const each of runs.filter((text) => text !== '')) {
    const [, name, ended, seen] = /^(\w{1,32})\.(\d{1,15})\.(\d{1,15})$/.exec(each) ?? []
    if (name === undefined) return undefined
    place[name] = { ended: Number(ended), seen: Number(seen), changes: 0 }
  }
  if (place[run] === undefined && lineRun !== run) return undefined
  return { place, line: lineRun === run && /^\d{1,15}$/.test(line ?? '') ? Number(line) : undefined }
}

/** More processes than any server has. */
const mostRuns = 300
