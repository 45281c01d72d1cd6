import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Dialect } from '../../contract/dialect.ts'
import { countTokens } from '../../core/uses/count-tokens.ts'
import { decodeCount } from '../../dialect/anthropic/decode.ts'
import { requestIdHeader } from '../../dialect/anthropic/errors.ts'
import { encodeAnthropicLimits } from '../../dialect/anthropic/limit-headers.ts'
import { withModel } from '../run/default-model.ts'
import type { CallerContext } from '../run/open-run.ts'
import { createCallHandler } from '../run/serve-call.ts'
import { createDialectHandler, type DialectDeps } from '../run/serve-dialect.ts'

type Deps = DialectDeps & { readonly messages: Dialect }

/** Anthropic's routes, except the list of models, which is shared with OpenAI's. */
export function addAnthropicRoutes(app: FastifyInstance, deps: Deps): void {
  const { messages } = deps
  const config = { scope: 'inference', encodeError: messages.encodeError, encodeLimits: () => encodeAnthropicLimits } as const
  const route = { config, onRequest: nameRequest }
  app.post('/v1/messages', route, createDialectHandler(deps, messages))
  app.post(
    '/v1/messages/count_tokens',
    route,
    createCallHandler(deps, (body, { exactBody, principal }) => {
      const { model, ignored, nameOf, ...request } = decodeCount(withModel(body, deps, principal), {
        sealer: deps.sealerOf(principal.id),
        exactBody,
        serverTools: deps.tools?.namesFor(principal),
      })
      const run = async (caller: CallerContext) => {
        const context = { model: await deps.models.find(model, caller.principal), ...caller }
        const { inputTokens, isEstimate } = await countTokens(deps, request, context)
        // An extension: Anthropic always counts.
        return { input_tokens: inputTokens, ...(isEstimate && { estimated: true }) }
      }
      return { ignored, nameOf, run }
    }),
  )
}

/** Errors contain the request's id themselves. */
function nameRequest({ id }: FastifyRequest, reply: FastifyReply, done: () => void): void {
  reply.header(requestIdHeader, id)
  done()
}
