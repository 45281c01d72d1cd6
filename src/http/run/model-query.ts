import type { FastifyRequest } from 'fastify'
import { callerOf } from '../access/caller.ts'
import { defaultModelName } from './default-model.ts'
import type { Models } from './deps.ts'

/** A route whose query may name a model. */
export type ModelQuery = { readonly Querystring: { readonly model?: string | readonly string[] } }

/** The model in `?model=`, or the default one. */
export function modelOfQuery(request: FastifyRequest<ModelQuery>, deps: Pick<Models, 'models' | 'lifecycle'>): string {
  const { model } = request.query
  const name = typeof model === 'string' || model === undefined ? model : model[0]
  return name === undefined || name === '' ? defaultModelName(deps, callerOf(request)) : name
}
