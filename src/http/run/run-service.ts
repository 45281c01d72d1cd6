import { randomUUID } from 'node:crypto'
import { AppError } from '../../contract/errors.ts'
import { formatPath } from '../../contract/field.ts'
import type { ModelViewer } from '../../contract/principal.ts'
import type { ServedModel } from '../../contract/served-model.ts'
import {
  type ServiceBody,
  type ServiceKind,
  type ServicePath,
  type ServiceSink,
  type Services,
  serviceAt,
} from '../../contract/services.ts'
import { callService } from '../../core/uses/call-service.ts'
import { nameWithKeys, readProviderData } from '../../dialect/llama-stack/provider-data.ts'
import type { Exchange } from '../reply/exchange.ts'
import { addIgnored } from '../reply/reply-headers.ts'
import type { Models, Watching } from './deps.ts'
import { openRun } from './open-run.ts'

export type ServiceRequest = {
  readonly path: ServicePath
  /** Absent: any model that has the service. */
  readonly model: string | undefined
  readonly body: ServiceBody
  /** The fields by which it can be cancelled. */
  readonly cancelFields: object
  readonly ignored?: readonly string[]
}

/** Passes a request on; its reply goes to `sink`. Resolves with the model's id. */
export async function runService(
  deps: Models & Watching,
  { request, reply }: Exchange,
  { path, model: name, body, cancelFields, ignored = [] }: ServiceRequest,
  sink: ServiceSink,
): Promise<string> {
  const { callerKeys, ignored: ignoredData } = readProviderData(request.headers)
  addIgnored(reply, [...ignored, ...ignoredData])
  const id = `call-${randomUUID()}`
  const { caller, handle } = openRun(deps, { request, reply }, { id, body: cancelFields })
  try {
    const { model, services } = await findServiceModel(deps, { kind: serviceAt(path), name, viewer: caller.principal })
    handle.servedBy(model.id)
    request.generation = { generationId: id, model: model.id, ...(name !== undefined && { requestedModel: name }) }
    const call = { path, body, ...(callerKeys !== undefined && { callerKeys }) }
    await callService({ services }, call, { model, ...caller }, sink)
    return model.id
  } catch (error) {
    throw AppError.from(error).inWordsOf(nameWithKeys(formatPath))
  } finally {
    handle.close()
  }
}

/** Whether a request goes to a server that has the service: the named model's, or without a name, that of any model. */
export async function hasService({ models }: Pick<Models, 'models'>, { kind, name, viewer }: Wanted): Promise<boolean> {
  if (name !== undefined) return withService(await models.find(name, viewer), kind) !== undefined
  return listServed({ models }, kind, viewer).length > 0
}

/** The ids of the models that have the service. */
export function listServed({ models }: Pick<Models, 'models'>, kind: ServiceKind, viewer: ModelViewer): readonly string[] {
  return models.list(viewer).flatMap(({ id }) => (withService(models.get(id, viewer), kind) === undefined ? [] : [id]))
}

type ServiceModel = { readonly model: ServedModel; readonly services: Services }
type Wanted = { readonly kind: ServiceKind; readonly name: string | undefined; readonly viewer: ModelViewer }

/** The model for a request, and its services; without a name, the first that has the service. Throws without one. */
async function findServiceModel({ models }: Pick<Models, 'models'>, { kind, name, viewer }: Wanted): Promise<ServiceModel> {
  if (name !== undefined) {
    const named = withService(await models.find(name, viewer), kind)
    if (named !== undefined) return named
  }
  const able = models.list(viewer).flatMap(({ id }) => withService(models.get(id, viewer), kind) ?? [])
  const [first] = able
  if (name === undefined && first !== undefined) return first
  const problem = name === undefined ? `no model here has the service '${kind}'` : `model '${name}' has no service '${kind}'`
  const names = able.map(({ model }) => `'${model.id}'`).join(', ')
  const isHeard = kind === 'transcription' || kind === 'translation'
  const source = `a remote model whose \`services\` list it${isHeard ? ', or a model that hears' : ''}`
  const advice = able.length === 0 ? `configure ${source} (docs/media.md)` : `choose another model: ${names}`
  throw new AppError('unsupported-field', `${problem}: ${advice}`, { at: ['model'] })
}

function withService(model: ServedModel, kind: ServiceKind): ServiceModel | undefined {
  const { services } = model.engine.capabilities
  return services?.kinds.has(kind) === true ? { model, services } : undefined
}
