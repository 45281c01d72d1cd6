import { AppError } from '../../contract/errors.ts'
import { findNameConflicts, type ModelNames, pickByName } from './aliases.ts'
import { didYouMean } from './near-name.ts'

/** The models of a server by name; the rest of a model is the caller's business. */
type Registry<Model extends ModelNames> = {
  /** The model with this name, among those that `allowed` names. Throws `model-not-found` with their ids. */
  resolve(name: string, allowed?: readonly string[]): Model
  /** The models in the order of the configuration: all, or those that `allowed` names by their ids or aliases. */
  list(allowed?: readonly string[]): readonly Model[]
}

/** A longer name is truncated in messages, since it comes from a request. */
const longestQuote = 100
/** How many ids a message names: a server may list hundreds. */
const longestList = 50

/** Throws `invalid-request` when a name is used twice. */
export function createRegistry<Model extends ModelNames>(models: readonly Model[]): Registry<Model> {
  const conflicts = findNameConflicts(models)
  if (conflicts.length > 0) throw new AppError('invalid-request', conflicts.map(({ message }) => message).join('; '))
  /** By the list of a key, which each of its requests has: finding its names takes long where both are many. */
  const lists = new WeakMap<readonly string[], readonly Model[]>()
  const list = (allowed?: readonly string[]) => {
    if (allowed === undefined) return models
    const known = lists.get(allowed)
    if (known !== undefined) return known
    const named = new Set(allowed.map((name) => pickByName(models, name)))
    const listed = models.filter((model) => named.has(model))
    lists.set(allowed, listed)
    return listed
  }
  return {
    resolve(name, allowed) {
      const visible = list(allowed)
      const model = pickByName(visible, name)
      if (model === undefined) throw notFound(visible, name)
      return model
    },
    list,
  }
}

function notFound(models: readonly ModelNames[], name: string): AppError {
  const ids = models.map(({ id }) => id)
  const names = [...ids, ...models.flatMap(({ aliases }) => aliases.filter((alias) => !alias.includes('*')))]
  const quoted = name.length > longestQuote ? `${name.slice(0, longestQuote)}…` : name
  const more = ids.length > longestList ? ` and ${ids.length - longestList} more` : ''
  const available = ids.length === 0 ? 'there are no models' : `available: ${ids.slice(0, longestList).join(', ')}${more}`
  return new AppError('model-not-found', `model '${quoted}' not found; ${available}${didYouMean(name, names)}`, { at: ['model'] })
}
