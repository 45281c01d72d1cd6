import type { FastifyInstance } from 'fastify'
import type { ModelSummary } from '../../contract/server/catalogue.ts'
import { rank } from '../../core/uses/rank.ts'
import { stackDialects } from '../../dialect/llama-stack/dialects.ts'
import { decodeEmbeddings, encodeEmbeddings } from '../../dialect/llama-stack/embeddings.ts'
import { encodeStackError } from '../../dialect/llama-stack/errors.ts'
import { encodeProvider, encodeRoutes } from '../../dialect/llama-stack/models.ts'
import { decodeStackRerank } from '../../dialect/llama-stack/rerank.ts'
import { callerOf } from '../access/caller.ts'
import type { ServedRoute } from '../access/route-guard.ts'
import { hidePaths } from '../reply/error-reply.ts'

import { createEmbedHandler } from '../run/embed-call.ts'
import { createScoringHandler } from '../run/scoring-call.ts'
import { createDialectHandler, type DialectDeps } from '../run/serve-dialect.ts'
import { pathOn } from './mounts.ts'

/** The paths of each generating dialect; older and newer clients use different ones. */
export const stackRoutes = [
  { dialect: stackDialects.chat, paths: ['/v1/inference/chat-completion'] },
  { dialect: stackDialects.completion, paths: ['/v1/inference/completion'] },
  {
    dialect: stackDialects.batchChat,
    paths: ['/v1/inference/batch-chat-completion', '/v1/batch-inference/chat-completion'],
  },
  {
    dialect: stackDialects.batchCompletion,
    paths: ['/v1/inference/batch-completion', '/v1/batch-inference/completion'],
  },
] as const

type StackDeps = DialectDeps & { readonly servedRoutes: () => readonly ServedRoute[] }

/** llama-stack's routes, except the models, which are shared with other protocols. */
export function addLlamaStackRoutes(app: FastifyInstance, deps: StackDeps): void {
  const { models, version, servedRoutes } = deps
  const config = { scope: 'inference', encodeError: encodeStackError } as const
  const open = { scope: 'public', encodeError: encodeStackError } as const

  for (const { dialect, paths } of stackRoutes) {
    const handler = createDialectHandler(deps, dialect, { modelField: 'model_id' })
    for (const path of paths) app.post(path, { config }, handler)
  }
  app.post(
    '/v1/inference/embeddings',
    { config },
    createEmbedHandler(deps, (body) => ({ ...decodeEmbeddings(body), encode: encodeEmbeddings }), { modelField: 'model_id' }),
  )
  const rerank = createScoringHandler(deps, { decode: decodeStackRerank, ranks: true, score: rank })
  for (const version of ['v1', 'v1alpha']) app.post(`/${version}/inference/rerank`, { config }, rerank)
  app.get('/v1/providers', { config }, (request) => ({ data: models.list(callerOf(request)).map(describeProvider) }))
  // A wildcard, because ids may have slashes.
  app.get<{ Params: { '*': string } }>('/v1/providers/*', { config }, (request) =>
    describeProvider(models.summary(models.get(request.params['*'], callerOf(request)))),
  )
  app.get('/v1/inspect/routes', { config }, () => encodeRoutes(servedRoutes().flatMap(withSecond)))
  app.get('/v1/health', { config: open }, () => ({ status: 'OK' }))
  app.get('/v1/version', { config: open }, () => ({ version }))
}

/** Without reasons of failures, which name files of this server. */
function describeProvider(model: ModelSummary) {
  const { state } = model
  return encodeProvider(state.type === 'failed' ? { ...model, state: { ...state, reason: hidePaths(state.reason) } } : model)
}

/** OpenAI's routes on both of their paths. */
function withSecond(route: ServedRoute): readonly ServedRoute[] {
  const second = pathOn('llama-stack', route.path)
  return [route, ...(second === undefined ? [] : [{ ...route, path: second }])]
}
