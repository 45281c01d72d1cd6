import { samplerOrder, temperatureFirst } from '../../canonical/sampler-order.ts'
import type { SamplerName, Sampling } from '../../contract/sampling.ts'
import type { CommonWire } from './common-schema.ts'
import { pickSpelled, pickSpelling, spellingsOf } from './spelling.ts'

type Ordered = Pick<
  CommonWire,
  | (typeof spellingsOf)['order' | 'typical' | 'sigma' | 'tailFree' | 'repetitionPenalty'][number]
  | 'temperature'
  | 'temperature_last'
  | 'presence_penalty'
  | 'frequency_penalty'
  | 'top_k'
  | 'top_a'
  | 'top_p'
  | 'min_p'
  | 'xtc_probability'
  | 'dry_multiplier'
  | 'smoothing_factor'
>

/** Names of llama.cpp and text-generation-webui, KoboldCpp's numbers (its `min_p` and `xtc` have none), and llama.cpp's letters. */
const names: Readonly<Record<string, SamplerName>> = {
  penalties: 'penalties',
  repetition_penalty: 'penalties',
  presence_penalty: 'penalties',
  frequency_penalty: 'penalties',
  dry: 'dry',
  top_n_sigma: 'top-n-sigma',
  top_k: 'top-k',
  top_a: 'top-a',
  tfs: 'tail-free',
  typ_p: 'typical',
  typical: 'typical',
  typical_p: 'typical',
  typ: 'typical',
  top_p: 'top-p',
  nucleus: 'top-p',
  min_p: 'min-p',
  xtc: 'xtc',
  temperature: 'temperature',
  temp: 'temperature',
  dynamic_temperature: 'temperature',
  quadratic_sampling: 'smoothing',
  6: 'penalties',
  0: 'top-k',
  1: 'top-a',
  2: 'top-p',
  3: 'tail-free',
  4: 'typical',
  5: 'temperature',
  e: 'penalties',
  d: 'dry',
  s: 'top-n-sigma',
  k: 'top-k',
  y: 'typical',
  p: 'top-p',
  m: 'min-p',
  x: 'xtc',
  t: 'temperature',
}

/** The values that switch off samplers missing from llama.cpp's list. */
const offValues: Readonly<Partial<Record<SamplerName, Sampling>>> = {
  penalties: { repetitionPenalty: 1, presencePenalty: 0, frequencyPenalty: 0 },
  dry: { dry: { multiplier: 0 } },
  'top-n-sigma': { topNSigma: 0 },
  'top-k': { topK: 0 },
  typical: { typicalP: 1 },
  'top-p': { topP: 1 },
  'min-p': { minP: 0 },
  xtc: { xtc: { probability: 0 } },
  temperature: { temperature: 1 },
}

const warmth: ReadonlySet<SamplerName> = new Set(['temperature', 'smoothing'])

export type SamplerOrder = {
  /** Absent if the order does not decide it. */
  readonly temperatureLast?: boolean
  /** All samplers, if the temperature's position does not describe their order. */
  readonly order?: readonly SamplerName[]
  /** The settings that switch off samplers missing from the list. */
  readonly off: Sampling
}

/**
 * An order of samplers, in canonical names; undefined without one. Names that no sampler has are skipped, as llama.cpp does: the fields of those that
 * Dragoman lacks are refused by themselves. Samplers that the body switches off may stand anywhere.
 */
export function decodeSamplerOrder(wire: Ordered): SamplerOrder | undefined {
  const given = pickSpelled(wire, spellingsOf.order)
  if (given === undefined || given.value.length === 0) return undefined
  const listed = new Set(readSamplers(given.value))
  const isOn = (sampler: SamplerName) => !isOff(sampler, wire)
  // Only llama.cpp skips samplers missing from its list; other servers' lists order all of them.
  const isMissing = (sampler: SamplerName) => !listed.has(sampler) && (isOn(sampler) || sampler === 'penalties')
  const missing = given.name === 'samplers' ? samplerOrder.filter(isMissing) : []
  const off = Object.assign({}, ...missing.map((sampler) => offValues[sampler])) as Sampling
  const all = complete([...listed])
  const order = wire.temperature_last === true ? [...all.filter((sampler) => !warmth.has(sampler)), ...warmth] : all
  const isAsIn = (other: readonly SamplerName[]) => order.filter(isOn).join() === other.filter((sampler) => isOn(sampler)).join()
  if (isAsIn(samplerOrder)) return isOn('temperature') ? { temperatureLast: true, off } : { off }
  if (isAsIn(temperatureFirst)) return { temperatureLast: false, off }
  return { order, off }
}

function readSamplers(given: string | readonly (string | number)[]): readonly SamplerName[] {
  const items = typeof given === 'string' ? splitOrder(given) : given
  return items.flatMap((item) => samplerOf(String(item)) ?? [])
}

/** A single word that is not a sampler's name consists of letters. */
function splitOrder(text: string): readonly string[] {
  const words = text.split(/[\s,;]+/)
  return words.length === 1 && samplerOf(text) === undefined ? [...text] : words
}

/** llama-server takes hyphens as well. */
function samplerOf(given: string): SamplerName | undefined {
  const name = given.replaceAll('-', '_')
  return Object.hasOwn(names, name) ? names[name] : undefined
}

/** Adds the missing samplers in their usual places, each after its predecessor. */
function complete(listed: readonly SamplerName[]): readonly SamplerName[] {
  const order = [...listed]
  for (const [index, sampler] of samplerOrder.entries()) {
    if (order.includes(sampler)) continue
    const before = samplerOrder[index - 1]
    order.splice(before === undefined ? 0 : order.indexOf(before) + 1, 0, sampler)
  }
  return order
}

function isOff(sampler: SamplerName, wire: Ordered): boolean {
  switch (sampler) {
    case 'top-n-sigma':
      return (pickSpelling(wire, spellingsOf.sigma) ?? 0) <= 0
    case 'typical':
      return (pickSpelling(wire, spellingsOf.typical) ?? 1) >= 1
    case 'top-k':
      return wire.top_k === 0 || wire.top_k === -1
    case 'top-a':
      return (wire.top_a ?? 0) === 0
    case 'tail-free':
      return [0, 1].includes(pickSpelling(wire, spellingsOf.tailFree) ?? 1)
    case 'top-p':
      return wire.top_p === 1
    case 'min-p':
      return wire.min_p === 0
    case 'xtc':
      return (wire.xtc_probability ?? 0) === 0
    case 'dry':
      return (wire.dry_multiplier ?? 0) === 0
    case 'smoothing':
      return (wire.smoothing_factor ?? 0) === 0
    case 'temperature':
      // text-generation-webui's `temperature_last` overrides the order, and its clients send both.
      return wire.temperature === 1 || wire.temperature_last === true
    case 'penalties': {
      const repetition = pickSpelling(wire, ['repetition_penalty', 'rep_pen', 'repeat_penalty']) ?? 1
      return repetition === 1 && (wire.presence_penalty ?? 0) === 0 && (wire.frequency_penalty ?? 0) === 0
    }
  }
}
