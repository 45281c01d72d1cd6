import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError } from '../../../contract/errors.ts'
import type { ActivityPlace } from '../../../contract/server/activity.ts'
import { encodeRequest } from '../../../dialect/own/encode-request.ts'
import { decodeNewKey, encodeKey } from '../../../dialect/own/keys.ts'
import { encodeLine } from '../../../dialect/own/log-lines.ts'
import { decodeLogs, decodeRequests, decodeUsage } from '../../../dialect/own/queries.ts'
import { callerOf } from '../../access/caller.ts'
import { takeRequiredBody } from '../../body/take-body.ts'
import { hidePaths } from '../../reply/error-reply.ts'
import { addIgnored } from '../../reply/reply-headers.ts'
import type { Limits, Models, Operating, Replying, Watching } from '../../run/deps.ts'
import { usageOf } from '../../run/usage-report.ts'
import { describeServer } from './server-state.ts'

/** The present and past activity of the server, its keys and its log, for the page and for other programs. */
export function addActivityRoutes(app: FastifyInstance, deps: Models & Watching & Operating & Limits & Replying): void {
  const { activity, lines, keys, captures } = deps
  const reading = { config: { scope: 'inference', isPolled: true } } as const
  const operating = { config: { scope: 'admin', isPolled: true } } as const
  app.get('/api/server', reading, (request) => describeServer(deps, callerOf(request)))

  if (activity !== undefined) {
    app.get('/api/requests', reading, async (request) => {
      const { state, limit } = decodeRequests(request.query)
      const { owner, readable } = viewOf(request)
      // The cursor starts at the last requests: earlier ones are read only as far as needed.
      const all: ReturnType<typeof encodeRequest>[] = []
      const recent = state === 'running' ? 0 : keptRequests
      let place: ActivityPlace | undefined
      for (let hasMore = true; hasMore; ) {
        const question = {
          recent,
          limit: keptRequests,
          ...(owner !== undefined && { owner }),
          ...(place !== undefined && { place }),
        }
        const page = await activity.read(question)
        all.push(...page.requests.map((each) => encodeRequest(each, readable)))
        place = page.place
        hasMore = page.hasMore
      }
      const isWanted = ({ ended_at_ms: end }: (typeof all)[number]) =>
        state === 'all' || (end === undefined) === (state === 'running')
      // Running requests, then ended ones, the latest first; each process has its own order.
      const endOf = ({ ended_at_ms: end = Number.POSITIVE_INFINITY }: (typeof all)[number]) => end
      const requests = all.filter(isWanted).reverse()
      return { requests: requests.sort((a, b) => (endOf(a) === endOf(b) ? 0 : endOf(b) - endOf(a))).slice(0, limit) }
    })
    app.get<{ Params: { id: string } }>('/api/requests/:id', reading, async (request) => {
      const { owner, readable } = viewOf(request)
      const caller = callerOf(request)
      const found = await activity.find(request.params.id, owner)
      if (found === undefined) {
        const message = `there is no request '${request.params.id.slice(0, 100)}' of this key: it never came, or is forgotten`
        throw new AppError('not-found', message, { param: 'id' })
      }
      const sent = await captures?.find(found.requestId)
      // An administrator sees the texts of others only where the configuration keeps them.
      const texts = found.owner === caller.id || captures !== undefined ? found.diverged?.texts : undefined
      return {
        ...encodeRequest(found, readable),
        ...(texts !== undefined && { diverged_texts: texts }),
        ...(sent !== undefined && { sent: { path: sent.path, body: sent.body } }),
      }
    })
  }

  if (lines !== undefined) {
    app.get('/api/logs', operating, (request) => {
      const { level, limit } = decodeLogs(request.query)
      const page = lines.read(lines.begin(keptLines), keptLines)
      const encoded = page.lines.map((line) => encodeLine(line, level)).filter((line) => line !== undefined)
      return { lines: encoded.slice(Math.max(0, encoded.length - limit)) }
    })
  }

  if (deps.usage !== undefined) {
    app.get('/api/usage', reading, (request) => usageOf(deps, callerOf(request), decodeUsage(request.query)))
  }

  if (keys === undefined) return
  const config = { scope: 'admin' } as const
  app.get('/api/keys', operating, async () => ({
    required: keys.areRequired,
    ...(keys.whyNone !== undefined && { why_none: keys.whyNone }),
    keys: (await keys.list()).map(encodeKey),
  }))
  app.post('/api/keys', { config }, async (request, reply) => {
    const { chosen, ignored } = decodeNewKey(takeRequiredBody(request).body, Date.now())
    addIgnored(reply, ignored)
    const { key, listed } = await keys.make(chosen, callerOf(request).id)
    return reply.code(201).send({ key, ...encodeKey(listed) })
  })
  app.delete<{ Params: { id: string } }>('/api/keys/:id', { config }, async (request) => {
    await keys.delete(request.params.id)
    return { id: request.params.id, deleted: true }
  })
}

const keptRequests = 10_000
const keptLines = 2000

/** The view of a caller: its own requests, or for an administrator all, and the readable parts of errors. */
function viewOf(request: FastifyRequest) {
  const { id, scopes } = callerOf(request)
  const isAdmin = scopes.has('admin')
  return {
    owner: isAdmin ? undefined : id,
    readable: isAdmin ? (message: string) => message : hidePaths,
  }
}
