import { randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../../../contract/errors.ts'
import type { Lifecycle, ModelReport } from '../../../contract/server/lifecycle.ts'
import { encodeOpenaiError } from '../../../dialect/openai/errors.ts'
import { decodeLoraLoad, decodeLoraUnload, encodeLoras, nameLoraField } from '../../../dialect/tabby/lora.ts'
import { callerOf } from '../../access/caller.ts'
import { takeRequiredBody } from '../../body/take-body.ts'
import { addIgnored } from '../../reply/reply-headers.ts'
import type { Models, Watching } from '../../run/deps.ts'
import { openRun } from '../../run/open-run.ts'

/** tabbyAPI's routes for the LoRA adapters of the active model. */
export function addLoraRoutes(app: FastifyInstance, deps: Models & Watching, lifecycle: Lifecycle): void {
  const reading = { config: { scope: 'inference', encodeError: encodeOpenaiError } } as const
  const changing = { config: { scope: 'admin', encodeError: encodeOpenaiError } } as const

  /** The active model, if the caller may use it. */
  const visible = (request: FastifyRequest): ModelReport | undefined => {
    const active = lifecycle.active()
    const isKnown = deps.models.list(callerOf(request)).some(({ id }) => id === active?.id)
    return isKnown ? active : undefined
  }
  for (const path of ['/v1/loras', '/v1/lora/list', '/v1/lora']) {
    app.get(path, reading, (request) => {
      const active = visible(request)
      return encodeLoras(active?.facts.adapters ?? [], active?.createdAtMs ?? 0)
    })
  }
  app.post('/v1/lora/load', changing, async (request, reply) => {
    const wanted = decodeLoraLoad(takeRequiredBody(request).body)
    const { adapters = [] } = await exchange(wanted, request, reply)
    return { success: adapters.map(({ name }) => name), failure: [] }
  })
  app.post('/v1/lora/unload', changing, async (request, reply) => {
    await exchange(decodeLoraUnload(request.body ?? {}), request, reply)
    return {}
  })

  /** Loads the active model again, with these adapters and all its other settings. */
  async function exchange(
    { adapters, endsRequests, ignored }: ReturnType<typeof decodeLoraLoad>,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<ModelReport['settings']> {
    addIgnored(reply, ignored)
    const active = visible(request)
    if (active === undefined) throw new AppError('invalid-request', 'no model is loaded: load one first')
    const { caller, handle } = openRun(deps, { request, reply }, { id: `load-${randomUUID()}` })
    try {
      const settings = { adapters }
      const { model } = await lifecycle.load(
        { name: active.id, settings, keepsSettings: true, reloads: false, endsRequests, waits: true },
        caller,
      )
      return model.settings
    } catch (error) {
      throw AppError.from(error).inWordsOf(nameLoraField)
    } finally {
      handle.close()
    }
  }
}
