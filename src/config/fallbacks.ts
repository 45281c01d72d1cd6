import { type ModelNames, pickByName } from '../registry/names/aliases.ts'

type WithFallback = ModelNames & { readonly fallback?: readonly string[] }

/** A name in a `fallback` that cannot be there. */
type FallbackProblem = { readonly index: number; readonly position: number; readonly message: string }

/** Finds models that would serve in their own place, and those that are named twice. */
export function findFallbackLoops(models: readonly WithFallback[]): FallbackProblem[] {
  return models.flatMap((model, index) =>
    (model.fallback ?? []).flatMap((name, position, all) => {
      const problem = (message: string) => [{ index, position, message }]
      if (pickByName([model], name) !== undefined) return problem(`'${name}' is this model: name another one`)
      return all.indexOf(name) === position ? [] : problem(`'${name}' is named twice`)
    }),
  )
}

/** Names that no model has, in words. */
export function findUnknownFallbacks(models: readonly WithFallback[]): string[] {
  return models.flatMap(({ id, fallback = [] }) =>
    fallback.flatMap((name) => {
      if (pickByName(models, name) !== undefined) return []
      const ids = models.map((model) => model.id).join(', ')
      return [`the fallback '${name}' of model '${id}' is not a model: there are ${ids}`]
    }),
  )
}
