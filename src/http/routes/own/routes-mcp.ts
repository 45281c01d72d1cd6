import { randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Dialect, ErrorReply } from '../../../contract/dialect.ts'
import { AppError } from '../../../contract/errors.ts'
import { formatPath } from '../../../contract/field.ts'
import { createMcpChat, failedTool, type McpChat } from '../../../dialect/mcp/chat.ts'
import {
  discovered,
  encodeInitialized,
  encodeMcpError,
  encodeMcpResult,
  invalidParams,
  type McpRequest,
  type McpResult,
  readMessage,
  unknownMethod,
} from '../../../dialect/mcp/messages.ts'
import {
  dataOfTool,
  encodeMcpModels,
  encodeTools,
  isMcpTool,
  type McpToolName,
  noArguments,
  usageArguments,
} from '../../../dialect/mcp/tools.ts'
import { validate } from '../../../dialect/wire/validate.ts'
import { callerOf } from '../../access/caller.ts'
import { takeRequiredBody } from '../../body/take-body.ts'
import { shownTo } from '../../reply/error-reply.ts'
import { logFailure } from '../../reply/failure-log.ts'
import { cancelEverywhere } from '../../run/cancel-everywhere.ts'
import { defaultModelName, withModel } from '../../run/default-model.ts'
import type { Limits, Operating } from '../../run/deps.ts'
import { createDialectHandler, type DialectDeps } from '../../run/serve-dialect.ts'
import { usageOf } from '../../run/usage-report.ts'

type Deps = DialectDeps & Operating & Limits & { readonly openai: { readonly chat: Dialect } }

const sessionHeader = 'mcp-session-id'

/** An MCP server whose tools are the models. It keeps nothing of its clients: a session is only a name for cancels. */
export function addMcpRoute(app: FastifyInstance, deps: Deps): void {
  const { models, usage, version } = deps
  const chat = createDialectHandler(deps, createMcpChat(deps.openai.chat, version), { hasDefaultModel: false })
  const tools = encodeTools((name) => name !== 'usage' || usage !== undefined)

  app.post('/mcp', { config: { scope: 'inference', encodeError: encodeMcpError } }, async (request, reply) => {
    const message = readMessage(takeRequiredBody(request).body, request.headers)
    switch (message.type) {
      case 'refusal':
        return send(reply, message.reply)
      case 'notification': {
        const { requestId } = message.params
        const cancelId = message.method === 'notifications/cancelled' ? cancelIdOf(request, requestId) : undefined
        const { id: by, scopes } = callerOf(request)
        if (cancelId !== undefined) await cancelEverywhere(deps, { cancelId, replyIds: [], by, isAdmin: scopes.has('admin') })
        return reply.code(202).send()
      }
      case 'request':
        return answer(message.request, { request, reply })
    }
  })

  async function answer(asked: McpRequest, { request, reply }: Http): Promise<unknown> {
    const { method, standsAlone } = asked
    const result = (value: McpResult) => encodeMcpResult(asked, value, version)
    if (method === 'tools/list') return result(tools)
    if (method === 'tools/call') return call(asked, { request, reply })
    if (standsAlone && method === 'server/discover') return result(discovered)
    if (!standsAlone && method === 'ping') return result({})
    if (standsAlone || method !== 'initialize') return send(reply, unknownMethod(asked))
    reply.header(sessionHeader, randomUUID())
    return result(encodeInitialized(asked, version))
  }

  async function call(asked: McpRequest, { request, reply }: Http): Promise<unknown> {
    const { name, arguments: given = {} } = asked.params
    if (!isMcpTool(name) || (name === 'usage' && usage === undefined)) {
      return send(reply, invalidParams(asked, `there is no tool ${JSON.stringify(name ?? null)}: tools/list names them`))
    }
    try {
      return await run(name, given, { asked, request, reply })
    } catch (thrown) {
      if (reply.sent) throw thrown
      const error = AppError.from(thrown).inWordsOf(formatPath)
      request.watch?.failed(error)
      logFailure(request, error, { what: 'tool failed', code: error.code })
      return encodeMcpResult(asked, failedTool(shownTo(request.principal, error)), version)
    }
  }

  async function run(name: McpToolName, given: unknown, { asked, request, reply }: Http & { readonly asked: McpRequest }) {
    const caller = callerOf(request)
    const data = (value: object) => encodeMcpResult(asked, dataOfTool(value), version)
    switch (name) {
      case 'list_models':
        validate(noArguments, given)
        await models.refresh()
        return data(encodeMcpModels(models.list(caller), defaultModelName(deps, caller)))
      case 'usage':
        return data(await usageOf(deps, caller, validate(usageArguments, given)))
      case 'chat': {
        const stream = request.headers.accept?.includes('text/event-stream') === true
        const chatCall: McpChat = { request: asked, arguments: withModel(given, deps, caller), stream }
        const cancelId = cancelIdOf(request, asked.id)
        request.body = { ...chatCall, ...(cancelId !== undefined && { cancel_id: cancelId }) }
        return chat(request, reply)
      }
    }
  }
}

type Http = { readonly request: FastifyRequest; readonly reply: FastifyReply }

function send(reply: FastifyReply, { status, body }: ErrorReply): FastifyReply {
  return reply.code(status).send(body)
}

/** The key by which a client of the older revisions cancels a call; without a session, requests of several clients have the same ids. */
function cancelIdOf({ headers }: FastifyRequest, id: unknown): string | undefined {
  const session = headers[sessionHeader]
  return typeof session === 'string' ? `mcp ${session} ${JSON.stringify(id)}` : undefined
}
