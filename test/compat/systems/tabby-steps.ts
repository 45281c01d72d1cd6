import { type Check, event, valueAt } from '../checks.ts'
import { post, tinyComplete } from '../row.ts'

/** A load of a model, which is the scripted one unless it is named. */
export const load = (fields: object, ...checks: readonly Check[]) =>
  post('/v1/model/load', { model_name: 'scripted', ...fields }, ...checks)
export const finished = event('status', 'finished')
export const unloadModel = () => post('/v1/model/unload', {}, sends({}))

export const preset = (body: object, ...checks: readonly Check[]) => post('/v1/sampling/override/switch', body, ...checks)
export const overrides = (values: object, ...checks: readonly Check[]) => preset({ overrides: values }, ...checks)
export const unloadPreset = () => post('/v1/sampling/override/unload', {}, sends({}, 'overrides'))

/** The JSON, or a value of it, is this object and no more. */
function sends(wanted: object, path = ''): Check {
  return ({ json, text }) =>
    JSON.stringify(valueAt(json, path)) === JSON.stringify(wanted) ? undefined : `not ${JSON.stringify(wanted)}: ${text}`
}

/**
 * 24 draws of one token under a fixed seed. No sampler is on but those of `fields`; after this prompt the model gives 7 % to `alth`, 5 % to
 * `report` and to `s`, 3 % to eight more, and what is left to all others.
 */
export function draws(fields: object, ...checks: readonly Check[]) {
  const neutral = { temperature: 1, top_k: 0, top_p: 1, min_p: 0 }
  return tinyComplete({ prompt: '[65]', seed: 7, max_tokens: 1, n: 24, ...neutral, ...fields }, ...checks)
}

/** The ids of the three most probable tokens of `draws`. */
export const [alth, report] = [1504, 1391]

/** These words were drawn, and no others. */
export function onlyWords(...wanted: readonly string[]): Check {
  return wordsAre(`only ${wanted}`, (words) => JSON.stringify([...new Set(words)].sort()) === JSON.stringify([...wanted].sort()))
}

/** None of these words were drawn. */
export function noWords(...unwanted: readonly string[]): Check {
  return wordsAre(`without ${unwanted}`, (words) => words.length > 0 && !words.some((word) => unwanted.includes(word)))
}

/** The number of different words. */
export function kinds(least: number, most = 24): Check {
  return wordsAre(`${least} to ${most} kinds`, (words) => {
    const { size } = new Set(words)
    return least <= size && size <= most
  })
}

function wordsAre(wanted: string, isRight: (words: readonly string[]) => boolean): Check {
  return ({ json, text }) => {
    const choices = (valueAt(json, 'choices') ?? []) as readonly { readonly text: string }[]
    const words = choices.map((choice) => choice.text)
    return isRight(words) ? undefined : `drawn: ${words}, not ${wanted}: ${words.length > 0 ? '' : text.slice(0, 400)}`
  }
}

/** 24 tokens after `The`, each the most probable one: the model repeats the word unless something keeps it from that. */
export function loops(fields: object, ...checks: readonly Check[]) {
  return tinyComplete({ prompt: 'The', temperature: 0, max_tokens: 24, ...fields }, ...checks)
}

/** A number above zero. */
export const positive = (value: unknown) => typeof value === 'number' && value > 0
/** A probability. */
export const isShare = (value: unknown) => typeof value === 'number' && value >= 0 && value <= 1

/** The ids of a list of models. */
export const ids =
  (isRight: (ids: readonly string[]) => boolean): Check =>
  ({ json, text: all }) => {
    const { data } = json as { readonly data: readonly { readonly id: string }[] }
    return isRight(data.map(({ id }) => id)) ? undefined : `not these models: ${all.slice(0, 400)}`
  }
