import { AppError } from '../../contract/errors.ts'
import { preview } from '../wire/preview.ts'
import type { CommonWire } from './common-schema.ts'
import { pickSpelled } from './spelling.ts'

/** llama.cpp's, KoboldCpp's and text-generation-webui's names of the same field. */
export const orderSpellings = ['samplers', 'sampler_order', 'sampler_priority'] as const

type Ordered = Pick<
  CommonWire,
  | (typeof orderSpellings)[number]
  | 'temperature'
  | 'temperature_last'
  | 'top_k'
  | 'top_p'
  | 'min_p'
  | 'xtc_probability'
  | 'dry_multiplier'
>

/** The order that every engine keeps; temperature comes after all of them, or before those that cut. */
const fixedOrder = ['penalties', 'dry', 'top_k', 'top_p', 'min_p', 'xtc'] as const
type Sampler = (typeof fixedOrder)[number] | 'temperature'
const cuts: readonly string[] = ['top_k', 'top_p', 'min_p', 'xtc'] satisfies readonly Sampler[]

const names: Readonly<Record<string, Sampler>> = {
  penalties: 'penalties',
  repetition_penalty: 'penalties',
  presence_penalty: 'penalties',
  frequency_penalty: 'penalties',
  dry: 'dry',
  top_k: 'top_k',
  top_p: 'top_p',
  min_p: 'min_p',
  xtc: 'xtc',
  temperature: 'temperature',
}
/** KoboldCpp's numbers; `min_p` has none, and comes first. */
const numbers: Readonly<Record<number, Sampler>> = { 6: 'penalties', 0: 'top_k', 2: 'top_p', 5: 'temperature' }

/** Whose own fields are refused unless they are off: their place in the order means nothing. */
const offNames = [
  ...['typ_p', 'typical_p', 'tfs', 'tfs_z', 'top_a', 'top_n_sigma', 'mirostat', 'adaptive_p', 'no_repeat_ngram'],
  ...['dynamic_temperature', 'quadratic_sampling', 'epsilon_cutoff', 'eta_cutoff', 'encoder_repetition_penalty', 'skew'],
]
const offNumbers = [1, 3, 4]

/**
 * Whether temperature comes last by the caller's order of samplers; undefined where that says nothing. Throws `unsupported-field` for an order
 * that no engine keeps. Samplers that the body switches off have any place.
 */
export function decodeSamplerOrder(wire: Ordered): boolean | undefined {
  const given = pickSpelled(wire, orderSpellings)
  if (given === undefined || given.value.length === 0) return undefined
  const order = given.value.flatMap((name) => samplerOf(name) ?? refuseUnknown(given.name, name))
  const active = order.filter((sampler) => !isOff(sampler, wire))
  const others = active.filter((sampler) => sampler !== 'temperature')
  const ranks = others.map((sampler) => (fixedOrder as readonly string[]).indexOf(sampler))
  const missing = given.name === 'samplers' ? leftOut(active, wire) : []
  const after = active.slice(active.lastIndexOf('temperature') + 1).filter((sampler) => cuts.includes(sampler))
  const isSplit = after.length > 0 && after.length < others.filter((sampler) => cuts.includes(sampler)).length
  const isSorted = ranks.every((rank, index) => rank >= (ranks[index - 1] ?? 0))
  if (!isSorted || isSplit || missing.length > 0) throw unsupported(given, missing)
  if (!active.includes('temperature')) return undefined
  return after.length === 0
}

function samplerOf(name: string | number): readonly Sampler[] | undefined {
  const sampler = typeof name === 'number' ? numbers[name] : names[name]
  if (sampler !== undefined) return [sampler]
  return (typeof name === 'number' ? offNumbers.includes(name) : offNames.includes(name)) ? [] : undefined
}

function isOff(sampler: Sampler, wire: Ordered): boolean {
  switch (sampler) {
    case 'top_k':
      return wire.top_k === 0 || wire.top_k === -1
    case 'top_p':
      return wire.top_p === 1
    case 'min_p':
      return wire.min_p === 0
    case 'xtc':
      return (wire.xtc_probability ?? 0) === 0
    case 'dry':
      return (wire.dry_multiplier ?? 0) === 0
    case 'temperature':
      // text-generation-webui's `temperature_last` wins over the order, and its clients send both.
      return wire.temperature === 1 || wire.temperature_last === true
    case 'penalties':
      return false
  }
}

/** llama.cpp runs no sampler that its list lacks. */
function leftOut(active: readonly Sampler[], wire: Ordered): readonly Sampler[] {
  const all = [...fixedOrder.slice(1), 'temperature'] as const
  return all.filter((sampler) => !isOff(sampler, wire) && !active.includes(sampler))
}

function unsupported({ name, value }: { readonly name: string; readonly value: unknown }, missing: readonly string[]): AppError {
  const lacks = missing.length === 0 ? '' : `; it lacks ${missing.join(', ')}, which the request does not switch off`
  const fixed = `${fixedOrder.join(', ')}, with temperature last or before top_k`
  return new AppError(
    'unsupported-field',
    `${name} ${preview(value)} is not supported (the order is ${fixed}${lacks}): leave it out`,
    { param: name },
  )
}

function refuseUnknown(param: string, name: string | number): never {
  const known = `${fixedOrder.join(', ')}, temperature`
  throw new AppError('unsupported-field', `${param}: there is no sampler ${preview(name)}; there are: ${known}`, { param })
}
