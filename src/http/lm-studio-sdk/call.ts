import type { FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { AppError } from '../../contract/errors.ts'
import type { Principal } from '../../contract/principal.ts'
import type { ServedModel } from '../../contract/served-model.ts'
import { encodeModel } from '../../dialect/lm-studio/models.ts'
import type { Model } from '../../dialect/lm-studio/replies.ts'
import type { Specifier } from '../../dialect/lm-studio-sdk/messages.ts'
import { encodeInstance, type Instance } from '../../dialect/lm-studio-sdk/model-info.ts'
import { validate } from '../../dialect/wire/validate.ts'
import type { createTurns } from '../responses/socket-turns.ts'
import { describeForLmStudio } from '../routes/describe-lm-studio.ts'
import { defaultModelName } from '../run/default-model.ts'
import type { Generating, Models, Replying, Watching } from '../run/deps.ts'

export type SdkDeps = Generating & Models & Watching & Replying

/** A WebSocket of the SDKs; those without endpoints here are accepted, so that what they call is refused by its name. */
export const namespaces = [
  'llm',
  'embedding',
  'system',
  'files',
  'repository',
  'diagnostics',
  'retrieval',
  'plugins',
  'runtime',
] as const
export type Namespace = (typeof namespaces)[number]

/** One call of a client on a connection. */
export type Call = {
  readonly deps: SdkDeps
  readonly namespace: Namespace
  readonly principal: Principal
  readonly request: FastifyRequest
  readonly turn: ReturnType<ReturnType<typeof createTurns>['open']>
  /** The names that the client gave to models on this connection. */
  readonly aliases: Map<string, string>
  send(message: object): Promise<void> | undefined
}

/** The parameter of a call. Throws `invalid-request`. */
export function read<S extends z.ZodType>(schema: S, parameter: unknown): z.output<S> {
  return validate(schema, parameter ?? {})
}

/** The type of models in the call's namespace; undefined: any. */
export function typeIn({ namespace }: Call): Model['type'] | undefined {
  return namespace === 'llm' || namespace === 'embedding' ? namespace : undefined
}

export async function listModels({ deps, principal }: Call): Promise<readonly Described[]> {
  await deps.models.refresh()
  return Promise.all(deps.models.list(principal).map(({ id }) => describe(deps, id, principal)))
}

type Described = { readonly model: Model; readonly contextLength: number }

async function describe(deps: SdkDeps, id: string, principal: Principal): Promise<Described> {
  const { entry, ...described } = await describeForLmStudio(deps, deps.models.summary({ id }), principal)
  return { model: encodeModel(entry, described), contextLength: described.contextLength ?? 0 }
}

/** The model that a call names: by its id, its alias, a name of this connection, or any, a loaded one first. */
export async function findNamed(call: Call, specifier: Specifier): Promise<ServedModel> {
  const { deps, principal } = call
  if (specifier.type === 'instanceReference') {
    // Where there is one model, a reference of another server can only mean that.
    const [only, ...others] = deps.models.list(principal)
    return findModel(call, others.length === 0 && only !== undefined ? only.id : specifier.instanceReference)
  }
  const { identifier, path, vision } = specifier.query
  const name = identifier ?? path
  if (typeof name === 'string') return findModel(call, name)
  const type = typeIn(call)
  const fitting = (await listModels(call)).filter(
    ({ model }) => (type === undefined || model.type === type) && (vision !== true || model.capabilities?.vision === true),
  )
  const usual = defaultModelName(deps, principal)
  const rankOf = ({ model }: Described) => 2 * Number(model.loaded_instances.length > 0) + Number(model.key === usual)
  const [chosen] = fitting.sort((a, b) => rankOf(b) - rankOf(a))
  if (chosen === undefined) throw new AppError('model-not-found', 'no model fits the query: name one')
  return deps.models.get(chosen.model.key, principal)
}

export async function findModel({ deps, principal, aliases }: Call, name: string): Promise<ServedModel> {
  return deps.models.find(aliases.get(name) ?? name, principal)
}

/** A model as an instance that the client uses. */
export async function instanceOf(call: Call, { id }: Pick<ServedModel, 'id'>, identifier = id): Promise<Instance> {
  const { model, contextLength } = await describe(call.deps, id, call.principal)
  return encodeInstance(model, { contextLength, identifier, type: typeIn(call) })
}
