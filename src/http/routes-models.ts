import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../contract/errors.ts'
import { encodeAnthropicError, requestIdHeader } from '../dialect/anthropic/errors.ts'
import { encodeAnthropicModel, encodeAnthropicModels, readPage } from '../dialect/anthropic/models.ts'
import { encodeOpenaiError } from '../dialect/openai/errors.ts'
import { encodeModelDetail, encodeModelList } from '../dialect/openai/models.ts'
import type { ServerDeps } from './deps.ts'

/** The models, in OpenAI's form, or in Anthropic's for clients that send its version header. */
export function addModelListRoutes(app: FastifyInstance, { models }: Pick<ServerDeps, 'models'>): void {
  const config = { scope: 'inference', encodeError: encodeOpenaiError } as const
  app.get<{ Querystring: Record<string, unknown> }>('/v1/models', { config }, (request, reply) => {
    if (!isAnthropic(request)) return encodeModelList(models.list())
    reply.header(requestIdHeader, request.id)
    return encodeAnthropicModels(models.list(), readPage(request.query))
  })
  // A wildcard, because ids may have slashes.
  app.get<{ Params: { '*': string } }>('/v1/models/*', { config }, (request, reply) => {
    const id = request.params['*']
    if (!isAnthropic(request)) return encodeModelDetail(models.get(id))
    reply.header(requestIdHeader, request.id)
    try {
      return encodeAnthropicModel(models.get(id))
    } catch (error) {
      return sendAnthropicError(AppError.from(error), request, reply)
    }
  })
}

function isAnthropic({ headers }: FastifyRequest): boolean {
  return headers['anthropic-version'] !== undefined
}

function sendAnthropicError(error: AppError, { id }: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { status, body } = encodeAnthropicError(error, id)
  return reply.code(status).send(body)
}
