import type { FastifyInstance } from 'fastify'
import { createOpenaiChat } from '../dialect/openai-chat/dialect.ts'
import { openaiCompletions } from '../dialect/openai-completions/dialect.ts'
import { encodeModel, encodeModelList } from '../dialect/openai-models.ts'
import type { ServerDeps } from './deps.ts'
import { createDialectHandler } from './serve-dialect.ts'

/** OpenAI's routes under `/v1`. */
export function addOpenaiRoutes(app: FastifyInstance, deps: ServerDeps): void {
  const openaiChat = createOpenaiChat({ reasoningFields: deps.reasoningFields ?? 'both' })
  const config = { scope: 'inference', encodeError: openaiChat.encodeError } as const
  app.post('/v1/chat/completions', { config }, createDialectHandler(deps, openaiChat))
  app.post('/v1/completions', { config }, createDialectHandler(deps, openaiCompletions))
  app.get('/v1/models', { config }, () => encodeModelList(deps.models.list()))
  // A wildcard, because ids may have slashes.
  app.get<{ Params: { '*': string } }>('/v1/models/*', { config }, (request) => encodeModel(deps.models.get(request.params['*'])))
}
