import { type ModelNames, pickByName } from '../registry/names/aliases.ts'
import { didYouMean } from '../registry/names/near-name.ts'

type WithFallback = ModelNames & { readonly fallback?: readonly string[]; readonly mirror?: { readonly to: string } }

type NameProblem = { readonly index: number; readonly path: readonly (string | number)[]; readonly message: string }

/** Finds models that name themselves as fallback or mirror, and fallbacks that are named twice. */
export function findLoops(models: readonly WithFallback[]): NameProblem[] {
  return models.flatMap((model, index) => {
    const { fallback = [], mirror } = model
    const isItself = (name: string) => pickByName([model], name) !== undefined
    const ofFallback = fallback.flatMap((name, position) => {
      const problem = (message: string) => [{ index, path: ['fallback', position], message }]
      if (isItself(name)) return problem(`'${name}' is this model: name another one`)
      return fallback.indexOf(name) === position ? [] : problem(`'${name}' is named twice`)
    })
    if (mirror === undefined || !isItself(mirror.to)) return ofFallback
    return [...ofFallback, { index, path: ['mirror', 'to'], message: `'${mirror.to}' is this model: name another one` }]
  })
}

/** Names in `fallback` and `mirror` that no model has, in words. */
export function findUnknownModels(models: readonly WithFallback[]): string[] {
  const isThere = (name: string) => pickByName(models, name) !== undefined
  const names = models.map(({ id }) => id)
  const ids = names.join(', ')
  return models.flatMap(({ id, fallback = [], mirror }) => [
    ...fallback.flatMap((name) =>
      isThere(name) ? [] : [`the fallback '${name}' of model '${id}' is not a model: there are ${ids}${didYouMean(name, names)}`],
    ),
    ...(mirror === undefined || isThere(`${id}@${mirror.to}`) || isThere(mirror.to)
      ? []
      : [
          `mirror.to '${mirror.to}' of model '${id}' is neither a version nor a model: there are ${ids}${didYouMean(mirror.to, names)}`,
        ]),
  ])
}
