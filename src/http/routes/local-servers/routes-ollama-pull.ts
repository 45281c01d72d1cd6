import { createHash, randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { AppError } from '../../../contract/errors.ts'
import type { LoadRequest } from '../../../contract/server/lifecycle.ts'
import { encodeOllamaError } from '../../../dialect/ollama/errors.ts'
import { isLocalFile, readSource } from '../../../dialect/ollama/names.ts'
import { createPullLines, decodeDelete, decodePull, refusedRoutes } from '../../../dialect/ollama/pull.ts'
import { authorize } from '../../access/auth.ts'
import { callerOf } from '../../access/caller.ts'
import { takeRequiredBody } from '../../body/take-body.ts'
import { shownTo } from '../../reply/error-reply.ts'
import { openEventStream } from '../../reply/event-stream.ts'
import type { Exchange } from '../../reply/exchange.ts'
import { logFailure } from '../../reply/failure-log.ts'
import { addIgnored } from '../../reply/reply-headers.ts'
import type { Models, Replying, Watching } from '../../run/deps.ts'
import { isServed } from '../../run/is-served.ts'
import { openRun } from '../../run/open-run.ts'
import { removeAdded } from './remove-added.ts'

/** Ollama's routes that change the set of models: most of them are refused in words that its clients show. */
export function addOllamaPullRoutes(app: FastifyInstance, deps: Models & Watching & Replying): void {
  const { lifecycle } = deps
  const config = { scope: 'inference', encodeError: encodeOllamaError, takesAnyType: true } as const

  app.post('/api/pull', { config }, async (request, reply) => {
    const { name, isStreamed, ignored } = decodePull(takeRequiredBody(request).body)
    addIgnored(reply, ignored)
    const caller = callerOf(request)
    if (await isServed(deps, name, caller)) return succeed(deps, reply, isStreamed)
    authorize(caller, 'admin')
    if (isLocalFile(name)) {
      const message = `'${name.slice(0, 100)}' is a file of the server's machine, which needs no pull: POST /api/inference/load serves it`
      throw new AppError('invalid-request', message, { param: 'model' })
    }
    if (lifecycle === undefined) {
      const message = `model '${name.slice(0, 100)}' is not here, and a server of several processes fetches none: add it to the configuration`
      throw new AppError('model-not-found', message, { param: 'model' })
    }
    return pull({ ...deps, lifecycle }, { name, isStreamed }, { request, reply })
  })

  app.delete('/api/delete', { config }, async (request, reply) => {
    const { name, ignored } = decodeDelete(takeRequiredBody(request).body)
    addIgnored(reply, ignored)
    const caller = callerOf(request)
    await removeAdded(deps, name, caller)
    return reply.send()
  })
  for (const { method, path, why } of refusedRoutes) {
    app.route({
      method,
      url: path,
      config: { ...config, isRefusal: true },
      handler: (request) => {
        request.absentReply = { status: 501, body: { error: why } }
        throw refused()
      },
    })
  }
  // A client then uploads the missing file, which is refused in words.
  app.head('/api/blobs/:digest', { config: { ...config, isRefusal: true } }, (_request, reply) => reply.code(404).send())
  for (const path of ['/api/me', '/api/signout']) {
    app.post(path, { config: { ...config, isRefusal: true } }, (request) => {
      request.absentReply = { status: 401, body: { error: 'unauthorized' } }
      throw refused()
    })
  }
}

/** The reply has words of its own. */
function refused(): AppError {
  return new AppError('route-not-found', 'this route of Ollama is not served')
}

function succeed(deps: Watching & Replying, reply: FastifyReply, isStreamed: boolean): unknown {
  if (!isStreamed) return { status: 'success' }
  const writer = openEventStream(deps, reply, { heartbeat: '', framing: 'lines' })
  writer.write(createPullLines({ digest: '', now: () => 0 }).end())
  writer.end()
  reply.hijack()
  return undefined
}

type Pulling = { readonly name: string; readonly isStreamed: boolean }

/** Fetches a model and serves it. Faults known before the first byte are refused with their status. */
async function pull(
  deps: Models & Watching & Replying & { readonly lifecycle: NonNullable<Models['lifecycle']> },
  { name, isStreamed }: Pulling,
  { request, reply }: Exchange,
): Promise<unknown> {
  const { lifecycle } = deps
  const { caller, handle } = openRun(deps, { request, reply }, { id: `pull-${randomUUID()}` })
  const source = readSource(name)
  const wanted: LoadRequest = { ...source, alias: name.trim(), settings: {}, reloads: false, endsRequests: false, isBeside: true }
  const lines = createPullLines({ digest: createHash('sha256').update(name).digest('hex'), now: deps.now })
  const writer = isStreamed ? openEventStream(deps, reply, { heartbeat: '', framing: 'lines' }) : undefined
  const named = (thrown: unknown) => AppError.from(thrown).inWordsOf(() => 'model')
  try {
    await lifecycle.find(source, caller.signal)
    writer?.write(lines.begin())
    await lifecycle.load(wanted, { ...caller, onProgress: (progress) => writer?.write(lines.progress(progress)) })
    if (writer === undefined) return { status: 'success' }
    writer.write(lines.end())
  } catch (thrown) {
    const error = named(thrown)
    if (writer?.started !== true) throw error
    logFailure(request, error, { what: 'pull failed', code: error.code })
    writer.write(lines.error(shownTo(request.principal, error)))
  } finally {
    writer?.end()
    handle.close()
  }
  reply.hijack()
  return undefined
}
