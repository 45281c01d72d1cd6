import { mergeSampling } from '../../../canonical/merge-sampling.ts'
import type { Sampling } from '../../../contract/sampling.ts'

/** The sampling defaults in a model's file, and notes on those that this engine does not support. */
export type FileSampling = { readonly sampling: Sampling; readonly notes: readonly string[] }

type Key = { readonly isValid: (value: number) => boolean; readonly to: (value: number) => Sampling }
/** A sampler of llama.cpp's chain: its names, and the parameters that disable it. */
type Sampler = { readonly names: readonly string[]; readonly off: Sampling }

const isRange = (value: number) => Number.isInteger(value) && value >= -1
const isShare = (value: number) => value >= 0 && value <= 1

/** llama.cpp's keys `general.sampling.*` (`llama_model_meta_key_str`), as it reads them (`common_init_sampler_from_model`). */
const keys: Readonly<Record<string, Key>> = {
  temp: { isValid: (value) => value >= 0, to: (temperature) => ({ temperature }) },
  top_k: { isValid: Number.isInteger, to: (topK) => ({ topK: Math.max(0, topK) }) },
  top_p: { isValid: isShare, to: (topP) => ({ topP }) },
  min_p: { isValid: isShare, to: (minP) => ({ minP }) },
  xtc_probability: { isValid: isShare, to: (probability) => ({ xtc: { probability } }) },
  xtc_threshold: { isValid: isShare, to: (threshold) => ({ xtc: { threshold } }) },
  penalty_repeat: { isValid: (value) => value > 0, to: (repetitionPenalty) => ({ repetitionPenalty }) },
  mirostat: { isValid: (value) => [0, 1, 2].includes(value), to: (version) => ({ mirostat: { version } }) },
  mirostat_tau: { isValid: (value) => value >= 0, to: (tau) => ({ mirostat: { tau } }) },
  mirostat_eta: { isValid: isShare, to: (eta) => ({ mirostat: { eta } }) },
  penalty_last_n: { isValid: isRange, to: (repetitionRange) => ({ repetitionRange }) },
}

/** In the order of the chain (`worker/sampling/sampling.ts`), which is fixed. */
const samplers: readonly Sampler[] = [
  { names: ['penalties'], off: { repetitionPenalty: 1 } },
  { names: ['dry'], off: { dry: { multiplier: 0 } } },
  { names: ['top_k'], off: { topK: 0 } },
  { names: ['top_p', 'nucleus'], off: { topP: 1 } },
  { names: ['min_p'], off: { minP: 0 } },
  { names: ['xtc'], off: { xtc: { probability: 0 } } },
  { names: ['temperature', 'temp'], off: { temperature: 1 } },
]
/** Samplers of llama.cpp that only have an effect with parameters that a file cannot set. */
const idleSamplers = ['top_n_sigma', 'typ_p', 'typical', 'typical_p']

/** Reads `general.sampling` of a GGUF file's metadata. Invalid and unsupported values are left out and noted. */
export function readFileSampling(metadata: unknown): FileSampling {
  if (typeof metadata !== 'object' || metadata === null) return { sampling: {}, notes: [] }
  const notes: string[] = []
  const layers: Sampling[] = []
  for (const [name, value] of Object.entries(metadata)) {
    if (name === 'sequence') continue
    const number = readNumber(value)
    const key = Object.hasOwn(keys, name) ? keys[name] : undefined
    if (key === undefined) notes.push(`general.sampling.${name} is unknown and has no effect`)
    else if (!key.isValid(number)) notes.push(`general.sampling.${name} is ${String(value)}, which is invalid and ignored`)
    else layers.push(key.to(number))
  }
  const { sequence } = metadata as { readonly sequence?: unknown }
  // A sampler outside the chain is off, even if its key is set.
  if (typeof sequence === 'string') layers.push(readSequence(sequence, notes))
  return { sampling: mergeSampling(...layers), notes }
}

function readSequence(sequence: string, notes: string[]): Sampling {
  const named = sequence.split(';').map((name) => name.trim().toLowerCase().replaceAll('-', '_'))
  const positions = named.map((name) => samplers.findIndex(({ names }) => names.includes(name)))
  const present = positions.filter((position) => position !== -1)
  for (const [index, name] of named.entries()) {
    if (positions[index] !== -1 || name === '' || idleSamplers.includes(name)) continue
    notes.push(`general.sampling.sequence names the sampler '${name}', which this engine does not support`)
  }
  if (present.some((position, index) => position < (present[index - 1] ?? 0))) {
    const ours = samplers.map(({ names }) => names[0]).join(';')
    notes.push(`general.sampling.sequence is '${sequence}', but the order of samplers is fixed here: ${ours}`)
  }
  return mergeSampling(...samplers.flatMap(({ off }, position) => (present.includes(position) ? [] : [off])))
}

/** Files contain 32-bit floats: 0.6000000238418579 means 0.6. llama.cpp accepts strings too. */
function readNumber(value: unknown): number {
  if (typeof value === 'string' && value.trim() === '') return Number.NaN
  const isNumeric = typeof value === 'number' || typeof value === 'bigint' || typeof value === 'string'
  return isNumeric ? Number(Number(value).toPrecision(7)) : Number.NaN
}
