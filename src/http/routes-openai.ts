import type { FastifyInstance } from 'fastify'
import { openaiChat } from '../dialect/openai-chat/dialect.ts'
import type { ModelSummary, ServerDeps } from './deps.ts'
import { createDialectHandler } from './serve-dialect.ts'

/** OpenAI's routes under `/v1`. */
export function addOpenaiRoutes(app: FastifyInstance, deps: ServerDeps): void {
  const { encodeError } = openaiChat
  const config = { scope: 'inference', encodeError } as const
  app.post('/v1/chat/completions', { config }, createDialectHandler(deps, openaiChat))
  app.get('/v1/models', { config }, () => ({ object: 'list', data: deps.models.list().map(encodeModel) }))
  // A wildcard, because ids may have slashes.
  app.get<{ Params: { '*': string } }>('/v1/models/*', { config }, (request) => encodeModel(deps.models.get(request.params['*'])))
}

function encodeModel({ id, aliases, createdAtMs, contextLength, state }: ModelSummary): unknown {
  return {
    id,
    object: 'model',
    created: Math.floor(createdAtMs / 1000),
    owned_by: 'dragoman',
    ...(contextLength !== undefined && { context_length: contextLength }),
    state: state.type,
    aliases,
  }
}
