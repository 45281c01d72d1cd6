import { isObject } from '../base/json.ts'

/** Settings that only models of one engine have. */
const signs = [
  ['endpoints', 'remote'],
  ['script', 'fake'],
  ['source', 'llama'],
] as const

/** The engines that a model may leave out. */
export type DerivedEngine = (typeof signs)[number][1]

/** Adds the missing engines of models in a parsed file, if their other settings show them. */
export function deriveEngines(raw: unknown): unknown {
  if (!isObject(raw) || !Array.isArray(raw.models)) return raw
  return { ...raw, models: raw.models.map(deriveEngine) }
}

function deriveEngine(model: unknown): unknown {
  if (!isObject(model) || Object.hasOwn(model, 'engine') || Object.hasOwn(model, 'from')) return model
  const [, engine] = signs.find(([key]) => Object.hasOwn(model, key)) ?? []
  return engine === undefined ? model : { engine, ...model }
}

/** Whether a model may leave out its engine. */
export function isDerived(engine: unknown): boolean {
  return signs.some(([, derived]) => derived === engine)
}
