import type { Sampling } from '../../contract/request.ts'
import type { CommonWire } from './common-schema.ts'
import { pickSpelled, pickSpelling } from './spelling.ts'

/** llama.cpp's, KoboldCpp's and text-generation-webui's names of the same field. */
export const orderSpellings = ['samplers', 'sampler_order', 'sampler_priority'] as const

export const typicalSpellings = ['typical', 'typical_p', 'typ_p'] as const
export const sigmaSpellings = ['top_n_sigma', 'nsigma'] as const

type Ordered = Pick<
  CommonWire,
  | (typeof orderSpellings)[number]
  | (typeof typicalSpellings)[number]
  | (typeof sigmaSpellings)[number]
  | 'temperature'
  | 'temperature_last'
  | 'top_k'
  | 'top_p'
  | 'min_p'
  | 'xtc_probability'
  | 'dry_multiplier'
>

/** The order that every engine keeps; temperature comes after all of them, or before those that cut. */
const fixedOrder = ['penalties', 'dry', 'top_n_sigma', 'top_k', 'typ_p', 'top_p', 'min_p', 'xtc'] as const
type Sampler = (typeof fixedOrder)[number] | 'temperature'
const cuts: readonly Sampler[] = ['top_n_sigma', 'top_k', 'typ_p', 'top_p', 'min_p', 'xtc']
const allSamplers: readonly Sampler[] = [...fixedOrder, 'temperature']

const otherNames: Readonly<Record<string, Sampler>> = {
  repetition_penalty: 'penalties',
  presence_penalty: 'penalties',
  frequency_penalty: 'penalties',
  typical: 'typ_p',
  typical_p: 'typ_p',
  // KoboldCpp's numbers; `min_p` has none.
  6: 'penalties',
  0: 'top_k',
  2: 'top_p',
  4: 'typ_p',
  5: 'temperature',
}

/** What switches a sampler off that llama.cpp's list lacks. */
const offValues: Readonly<Record<Sampler, Sampling>> = {
  penalties: { repetitionPenalty: 1, presencePenalty: 0, frequencyPenalty: 0 },
  dry: { dry: { multiplier: 0 } },
  top_n_sigma: { topNSigma: 0 },
  top_k: { topK: 0 },
  typ_p: { typicalP: 1 },
  top_p: { topP: 1 },
  min_p: { minP: 0 },
  xtc: { xtc: { probability: 0 } },
  temperature: { temperature: 1 },
}

export type SamplerOrder = {
  /** Absent where the order does not say it. */
  readonly temperatureLast?: boolean
  /** The settings of samplers that the list switches off. */
  readonly off: Sampling
  /** Whether the samplers run in exactly this order here. */
  readonly isKept: boolean
}

/**
 * What an order of samplers means; undefined without one. Names that no sampler has are skipped, as llama.cpp does: the fields of those that
 * Dragoman lacks are refused by themselves. Samplers that the body switches off may stand anywhere.
 */
export function decodeSamplerOrder(wire: Ordered): SamplerOrder | undefined {
  const given = pickSpelled(wire, orderSpellings)
  if (given === undefined || given.value.length === 0) return undefined
  const order = given.value.flatMap((name) => samplerOf(String(name)) ?? [])
  // Only llama.cpp runs no sampler that its list lacks; the others' lists say an order of all that there are.
  const missing =
    given.name === 'samplers' ? allSamplers.filter((sampler) => !order.includes(sampler) && !isOff(sampler, wire)) : []
  const active = order.filter((sampler) => !isOff(sampler, wire))
  const ranks = active.filter((sampler) => sampler !== 'temperature').map((sampler) => allSamplers.indexOf(sampler))
  const isSorted = ranks.every((rank, index) => rank >= (ranks[index - 1] ?? 0))
  const off = Object.assign({}, ...missing.map((sampler) => offValues[sampler])) as Sampling
  if (!active.includes('temperature')) return { off, isKept: isSorted }
  const cutsAfter = active.slice(active.lastIndexOf('temperature') + 1).filter((sampler) => cuts.includes(sampler)).length
  const cutsBefore = active.filter((sampler) => cuts.includes(sampler)).length - cutsAfter
  return { temperatureLast: cutsAfter === 0 || cutsBefore > 0, off, isKept: isSorted && (cutsAfter === 0 || cutsBefore === 0) }
}

/** Whether a body has an order that is not kept. */
export function losesOrder(_: unknown, body: object): boolean {
  return decodeSamplerOrder(body as Ordered)?.isKept === false
}

function samplerOf(name: string): Sampler | undefined {
  return allSamplers.find((sampler) => sampler === name) ?? otherNames[name]
}

function isOff(sampler: Sampler, wire: Ordered): boolean {
  switch (sampler) {
    case 'top_n_sigma':
      return (pickSpelling(wire, sigmaSpellings) ?? 0) <= 0
    case 'typ_p':
      return (pickSpelling(wire, typicalSpellings) ?? 1) >= 1
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
