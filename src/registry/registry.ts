import { AppError } from '../contract/errors.ts'
import { findNameConflicts, type ModelNames, pickByName } from './aliases.ts'
import { nearestName } from './near-name.ts'

/** The models of a server by name; what a model is, beyond its names, is the caller's business. */
type Registry<Model extends ModelNames> = {
  /** The model with this name. Throws `model-not-found` with the ids of all models. */
  resolve(name: string): Model
  /** All models, in the order of the configuration. */
  list(): readonly Model[]
}

/** A longer name is truncated in messages, since it comes from a request. */
const longestQuote = 100

/** Throws `invalid-request` when a name is used twice. */
export function createRegistry<Model extends ModelNames>(models: readonly Model[]): Registry<Model> {
  const conflicts = findNameConflicts(models)
  if (conflicts.length > 0) throw new AppError('invalid-request', conflicts.map(({ message }) => message).join('; '))
  return {
    resolve(name) {
      const model = pickByName(models, name)
      if (model === undefined) throw notFound(models, name)
      return model
    },
    list: () => models,
  }
}

function notFound(models: readonly ModelNames[], name: string): AppError {
  const ids = models.map(({ id }) => id)
  const names = [...ids, ...models.flatMap(({ aliases }) => aliases.filter((alias) => !alias.includes('*')))]
  const nearest = nearestName(name, names)
  const quoted = name.length > longestQuote ? `${name.slice(0, longestQuote)}…` : name
  const available = ids.length === 0 ? 'there are no models' : `available: ${ids.join(', ')}`
  const hint = nearest === undefined ? '' : `; did you mean '${nearest}'?`
  return new AppError('model-not-found', `model '${quoted}' not found; ${available}${hint}`, { at: ['model'] })
}
