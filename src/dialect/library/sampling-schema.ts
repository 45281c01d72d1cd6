import { z } from 'zod'
import type { SamplerName, Sampling } from '../../contract/sampling.ts'
import { list } from '../wire/first-fault.ts'
import {
  integerBetween,
  nonEmptyText,
  numberAbove,
  numberBetween,
  numberFrom,
  stopList,
  tokenIdList,
  wholeFrom,
} from '../wire/wire-types.ts'
import { object } from './typed-object.ts'

type Part<Name extends keyof Sampling> = NonNullable<Sampling[Name]>

const share = numberBetween(0, 1)
const maxTemperature = 10
const penalty = numberBetween(-2, 2)
const samplerNames = [
  'penalties',
  'dry',
  'top-n-sigma',
  'top-k',
  'top-a',
  'tail-free',
  'typical',
  'top-p',
  'min-p',
  'xtc',
  'temperature',
  'smoothing',
] as const satisfies readonly SamplerName[]
const tokenBias = z.map(wholeFrom(0), numberBetween(-100, 100), { error: 'a Map of token ids and numbers' })
const texts = list(nonEmptyText, { error: 'an array of non-empty strings' })

/** The sampling options of a program in this process, within the ranges of the public protocols. */
export const samplingSchema = object<Sampling>(
  {},
  {
    temperature: numberBetween(0, maxTemperature),
    topP: share,
    topK: wholeFrom(0),
    minP: share,
    // As in the public protocols: engines take 32 bits.
    seed: wholeFrom(0).transform((seed) => seed >>> 0),
    repetitionPenalty: numberAbove(0),
    repetitionRange: wholeFrom(-1),
    presencePenalty: penalty,
    frequencyPenalty: penalty,
    temperatureLast: z.boolean(),
    logitBias: tokenBias,
    xtc: object<Part<'xtc'>>({}, { probability: share, threshold: share }),
    dry: object<Part<'dry'>>(
      {},
      {
        multiplier: numberFrom(0),
        base: numberFrom(1),
        allowedLength: wholeFrom(0),
        range: wholeFrom(-1),
        sequenceBreakers: texts,
      },
    ),
    typicalP: share,
    topNSigma: numberFrom(0),
    dynamicTemperature: object<Part<'dynamicTemperature'>>(
      {},
      { range: numberBetween(0, maxTemperature), exponent: numberFrom(0) },
    ),
    mirostat: object<Part<'mirostat'>>({}, { version: integerBetween(0, 2), tau: numberFrom(0), eta: share }),
    adaptiveP: object<Part<'adaptiveP'>>({}, { target: numberBetween(-1, 1), decay: numberBetween(0, 0.99) }),
    topA: share,
    tailFree: share,
    smoothing: object<Part<'smoothing'>>({}, { factor: numberBetween(0, 100), curve: numberFrom(1) }),
    skew: numberBetween(-10, 10),
    repetitionDecay: wholeFrom(0),
    samplerOrder: list(z.enum(samplerNames), { error: 'an array of names of samplers' }),
    allowedTokens: tokenIdList(),
    stopTokens: tokenIdList(),
    bannedStrings: stopList(nonEmptyText, 'an array of non-empty strings'),
    loopWindow: integerBetween(0, 10_000),
    healsTokens: z.boolean(),
    guidance: object<Part<'guidance'>>({}, { scale: numberBetween(0, 100), negativePrompt: z.string() }),
  },
)
