import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Principal } from '../../contract/principal.ts'
import type { ModelSummary } from '../../contract/server/catalogue.ts'
import type { ModelFileFacts } from '../../contract/server/model-file.ts'
import { encodeAnthropicError, requestIdHeader } from '../../dialect/anthropic/errors.ts'
import { encodeAnthropicLimits } from '../../dialect/anthropic/limit-headers.ts'
import { encodeAnthropicModel, encodeAnthropicModels, readPage } from '../../dialect/anthropic/models.ts'
import { encodeStackError } from '../../dialect/llama-stack/errors.ts'
import { encodeStackModel, encodeStackModels } from '../../dialect/llama-stack/models.ts'
import { encodeOpenaiError } from '../../dialect/openai/errors.ts'
import { encodeOpenaiLimits } from '../../dialect/openai/limit-headers.ts'
import { encodeModelDetail, encodeModelList } from '../../dialect/openai/models.ts'
import { callerOf } from '../access/caller.ts'
import type { EncodeError } from '../reply/error-reply.ts'
import type { EncodeLimits } from '../reply/reply-headers.ts'
import { withElsewhere } from '../reply/servers-elsewhere.ts'
import type { Models, Operating } from '../run/deps.ts'
import { refuseChange } from './refuse-model-change.ts'

type Query = Readonly<Record<string, unknown>>

type Shown = ModelSummary & { readonly file: ModelFileFacts | undefined; readonly isAdded: boolean }

type ModelForm = {
  list(models: readonly Shown[], query: Query): unknown
  one(model: Shown): unknown
  readonly encodeError: EncodeError
  readonly encodeLimits: EncodeLimits
  /** The header of its replies that contains the request's id. */
  readonly requestIdHeader?: string
}

const openai: ModelForm = {
  list: encodeModelList,
  one: encodeModelDetail,
  encodeError: encodeOpenaiError,
  encodeLimits: encodeOpenaiLimits,
}
const anthropic: ModelForm = {
  list: (models, query) => encodeAnthropicModels(models, readPage(query)),
  one: encodeAnthropicModel,
  encodeError: encodeAnthropicError,
  encodeLimits: encodeAnthropicLimits,
  requestIdHeader,
}
const llamaStack: ModelForm = {
  list: encodeStackModels,
  one: encodeStackModel,
  encodeError: encodeStackError,
  encodeLimits: encodeOpenaiLimits,
}

/** The models, in the form of the client's protocol. */
export function addModelListRoutes(app: FastifyInstance, { models, modelFiles, lifecycle, siblings }: Models & Operating): void {
  const encodeLimits = (request: FastifyRequest) => formOf(request).encodeLimits
  const encodeErrorOf = (request: FastifyRequest) => formOf(request).encodeError
  const config = { scope: 'inference', encodeErrorOf, encodeLimits } as const
  app.get<{ Querystring: Query }>('/v1/models', { config }, (request, reply) =>
    inForm(request, reply, async ({ list }) => {
      await models.refresh()
      const isAdded = addedModels()
      return list(await Promise.all(models.list(callerOf(request)).map((model) => withFile(model, isAdded))), request.query)
    }),
  )
  // A wildcard, because ids may have slashes.
  app.get<{ Params: { '*': string } }>('/v1/models/*', { config }, (request, reply) =>
    inForm(request, reply, async ({ one }) =>
      one(await withFile(await summary(request.params['*'], callerOf(request)), addedModels())),
    ),
  )
  const summary = async (name: string, caller: Principal): Promise<ModelSummary> => {
    const { servers, ...model } = models.summary(await models.find(name, caller))
    return { ...model, ...(servers !== undefined && { servers: await withElsewhere(siblings, model.id, servers) }) }
  }
  const addedModels = () => {
    const added = new Set(lifecycle?.models().flatMap(({ id, isAdded }) => (isAdded === true ? [id] : [])))
    return (id: string) => added.has(id)
  }
  async function withFile(model: ModelSummary, isAdded: (id: string) => boolean): Promise<Shown> {
    const file = await modelFiles?.describe(model.id)
    return { ...model, file, isAdded: isAdded(model.id) }
  }

  // llama-stack's register and unregister.
  const refusal = { config: { ...config, isRefusal: true } } as const
  app.delete('/v1/models/*', refusal, (request, reply) => inForm(request, reply, () => refuseChange(reply)))
}

/** OpenAI's form, unless a header shows a client of another protocol. llama-stack's mount of OpenAI's routes is OpenAI's always. */
function formOf({ headers, surface }: FastifyRequest): ModelForm {
  if (surface === 'llama-stack') return openai
  if (headers['anthropic-version'] !== undefined) return anthropic
  return isFromStackClient(headers) ? llamaStack : openai
}

/** Whether the client is one of llama-stack's. */
export function isFromStackClient(headers: FastifyRequest['headers']): boolean {
  return headers['x-llamastack-client-version'] !== undefined || /LlamaStackClient\//.test(headers['user-agent'] ?? '')
}

function inForm(request: FastifyRequest, reply: FastifyReply, make: (form: ModelForm) => unknown): unknown {
  const form = formOf(request)
  if (form.requestIdHeader !== undefined) reply.header(form.requestIdHeader, request.id)
  return make(form)
}
