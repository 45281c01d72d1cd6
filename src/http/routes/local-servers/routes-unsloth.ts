import { randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../../../contract/errors.ts'
import { countTokens } from '../../../core/uses/count-tokens.ts'
import { decodeChat } from '../../../dialect/openai-chat/decode.ts'
import { unslothGenerate } from '../../../dialect/unsloth/dialect.ts'
import {
  encodeActive,
  encodeFound,
  encodeLoaded,
  encodeProgress,
  encodeStatus,
  encodeUnslothError,
} from '../../../dialect/unsloth/encode.ts'
import { decodeLoad, decodeUnload, decodeValidate, nameLoadField } from '../../../dialect/unsloth/requests.ts'
import { decodeToolConfirm, nothingWaits } from '../../../dialect/unsloth/tool-confirm.ts'
import { callerOf } from '../../access/caller.ts'
import { takeRequiredBody } from '../../body/take-body.ts'
import { addIgnored } from '../../reply/reply-headers.ts'
import { cancelEverywhere } from '../../run/cancel-everywhere.ts'
import { conversationOf } from '../../run/conversation.ts'
import { defaultModelName, withModel } from '../../run/default-model.ts'
import type { Operating } from '../../run/deps.ts'
import { type CallerContext, openRun } from '../../run/open-run.ts'
import { createCallHandler } from '../../run/serve-call.ts'
import { createDialectHandler, type DialectDeps } from '../../run/serve-dialect.ts'

/** Unsloth's routes for loading models; its routes for generating are those of the other protocols. */
export function addUnslothRoutes(app: FastifyInstance, deps: DialectDeps & Operating): void {
  const { lifecycle, models, cancellations } = deps
  const reading = { config: { scope: 'inference', encodeError: encodeUnslothError } } as const
  app.post(
    '/api/inference/generate/stream',
    { config: { ...reading.config, surface: 'unsloth' } },
    createDialectHandler(deps, unslothGenerate),
  )
  app.post(
    '/v1/chat/count_tokens',
    reading,
    createCallHandler(deps, (body, { principal }) => {
      const { request, ignored, nameOf } = decodeChat(withModel(body, deps, principal), '')
      const { model: name } = request
      const conversation = conversationOf(request)
      const run = async (caller: CallerContext) => {
        const model = deps.models.get(name, principal)
        const { inputTokens, isEstimate } = await countTokens(deps, conversation, { ...caller, model })
        return { input_tokens: inputTokens, model: model.id, ...(isEstimate && { estimated: true }) }
      }
      return { ignored, nameOf, run }
    }),
  )
  app.post(
    '/api/inference/tool-confirm',
    reading,
    createCallHandler(deps, (body, { principal: { id: by, scopes } }) => {
      const confirm = decodeToolConfirm(body)
      const { callId, decision, ignored } = confirm
      const run = async () => {
        const made = { callId, by, isAdmin: scopes.has('admin'), ...decision }
        if ((await deps.approvals?.decideAnywhere(made)) !== true) throw nothingWaits(confirm)
        return confirm.reply
      }
      return { ignored, run }
    }),
  )
  app.get('/api/inference/active-generations', reading, (request) => {
    const caller = callerOf(request)
    const hasModels = models.list(caller).length > 0
    const slots = hasModels ? deps.models.get(defaultModelName(deps, caller), caller).scheduler.load.slots : 0
    return encodeActive(cancellations.list({ owner: caller.id }), slots)
  })
  if (lifecycle === undefined) return
  const changing = { config: { scope: 'admin', encodeError: encodeUnslothError } } as const

  app.post('/api/inference/load', changing, (request, reply) => {
    const { request: wanted, ignored, loadRequestId } = decodeLoad(takeRequiredBody(request).body)
    return answer({ request, reply, ignored, loadRequestId }, async (caller) =>
      encodeLoaded(await lifecycle.load(wanted, caller)),
    )
  })
  app.post('/api/inference/validate', changing, (request, reply) => {
    const { request: wanted, ignored } = decodeValidate(takeRequiredBody(request).body)
    return answer({ request, reply, ignored }, async ({ signal }) => encodeFound(await lifecycle.find(wanted, signal)))
  })
  app.post('/api/inference/unload', changing, (request, reply) => {
    const { request: wanted, ignored } = decodeUnload(takeRequiredBody(request).body)
    return answer({ request, reply, ignored }, async ({ principal }) => {
      if (wanted.loadRequestId === undefined) {
        const { name, endsRequests } = wanted
        return { status: 'unloaded', model: await lifecycle.unload(name, { endsRequests, principal }) }
      }
      // Scoped to its key, also for administrators: only who started a load has its id.
      const cancel = { cancelId: loadKey(wanted.loadRequestId), replyIds: [], by: principal.id, isAdmin: false }
      return { status: 'cancelled', model: wanted.name ?? null, cancelled: await cancelEverywhere(deps, cancel) }
    })
  })
  /** The models that the caller may use. */
  const visible = (request: FastifyRequest) => {
    const caller = callerOf(request)
    const names = new Set(models.list(caller).map(({ id }) => id))
    const sees = (id: string) => caller.models === undefined || names.has(id)
    const active = lifecycle.active()
    return {
      active: active !== undefined && sees(active.id) ? active : undefined,
      models: lifecycle.models().filter(({ id }) => sees(id)),
      loads: lifecycle.loads().filter(({ model }) => sees(model)),
    }
  }
  app.get('/api/inference/status', reading, (request) => encodeStatus(visible(request)))
  const polled = { config: { ...reading.config, isPolled: true } } as const
  app.get('/api/inference/load-progress', polled, (request) => {
    const { loads, active } = visible(request)
    return encodeProgress(loads, active)
  })

  /** Runs work that its client's leaving, or its own id, cancels. */
  async function answer({ request, reply, ignored, loadRequestId }: Answer, work: (caller: CallerContext) => Promise<unknown>) {
    addIgnored(reply, ignored)
    const body = loadRequestId === undefined ? undefined : { cancel_id: loadKey(loadRequestId) }
    const { caller, handle } = openRun(deps, { request, reply }, { id: `load-${randomUUID()}`, body })
    try {
      return await work(caller)
    } catch (error) {
      throw AppError.from(error).inWordsOf(nameLoadField)
    } finally {
      handle.close()
    }
  }
}

type Answer = {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly ignored: readonly string[]
  readonly loadRequestId?: string | undefined
}

/** Ids of loads and of generations are apart. */
function loadKey(id: string): string {
  return `load ${id}`
}
