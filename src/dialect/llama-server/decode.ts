import type { DecodedCall } from '../../contract/dialect.ts'
import { type Prompt, plainRequest } from '../../contract/request.ts'
import { nestedConstraintFields } from '../openai/common-fields.ts'
import type { CommonWire } from '../openai/common-schema.ts'
import { decodeCommon } from '../openai/decode-common.ts'
import { decodeForwarded } from '../openai/decode-forwarded.ts'
import { decodeOutput } from '../openai/decode-output.ts'
import { commonNames, nameOutput } from '../openai/field-names.ts'
import { decodeServerFields } from '../openai/server-fields.ts'
import { pickSpelling, spellingsOf } from '../openai/spelling.ts'
import { decodeProgress } from '../openai/times/running-fields.ts'
import { type FieldNames, nameField } from '../wire/field-names.ts'
import { indexFields } from '../wire/field-table.ts'
import { unknownKeys } from '../wire/unknown-keys.ts'
import { bodyReader } from '../wire/validate.ts'
import { completionFields, infillFields } from './fields.ts'
import { type CompletionWire, completionSchema, type InfillWire, infillSchema, type WirePrompt } from './schema.ts'

/** A request in canonical form, one for each prompt, and the options of its reply. */
export type DecodedLlamaCompletion = Pick<DecodedCall, 'requests' | 'stream' | 'ignored' | 'nameOf'> & {
  /** Each chunk of the stream has the timings so far. */
  readonly timingsPerToken: boolean
  /** The reply is an array. */
  readonly isList: boolean
  /** Only reads the prompt, for the cache: generated output is not shown. */
  readonly onlyReads: boolean
  /** The text of each prompt, which the reply repeats; empty for token ids. */
  readonly prompts: readonly string[]
  readonly responseFields: readonly string[] | undefined
}

const nested = indexFields(nestedConstraintFields)
const readCompletion = bodyReader(completionSchema, completionFields, unknownKeys(completionSchema, nested))
const readInfill = bodyReader(infillSchema, infillFields, unknownKeys(infillSchema, nested))

/** Throws `invalid-request` or `unsupported-field`, with `param`, for a body that cannot be served completely. */
export function decodeCompletion(body: unknown, id: string): DecodedLlamaCompletion {
  const { wire, ignored } = readCompletion(body)
  const { prompt } = wire
  const isList = Array.isArray(prompt) && typeof prompt[0] !== 'number'
  const all = (isList ? prompt : [prompt]) as readonly WirePrompt[]
  const names = { prompt: ['prompt'], 'prompt.text': ['prompt'], 'prompt.tokens': ['prompt'] } as const
  return decodeShared(wire, { id, prompts: all.map(toPrompt), isList, ignored, names })
}

/** As `decodeCompletion`, for `POST /infill`. */
export function decodeInfill(body: unknown, id: string): DecodedLlamaCompletion {
  const { wire, ignored } = readInfill(body)
  const extra = (wire.input_extra ?? []).map(({ text }) => `${text}\n`).join('')
  const prefix = extra + wire.input_prefix + (wire.prompt ?? '')
  const names = { prompt: ['input_prefix'], 'prompt.prefix': ['input_prefix'], 'prompt.suffix': ['input_suffix'] } as const
  const prompts: readonly Prompt[] = [{ type: 'infill', prefix, suffix: wire.input_suffix }]
  return decodeShared(wire, { id, prompts, isList: false, ignored, names })
}

type Source = Pick<DecodedLlamaCompletion, 'isList' | 'ignored'> & {
  readonly id: string
  readonly prompts: readonly Prompt[]
  readonly names: FieldNames
}

function decodeShared(wire: CompletionWire | InfillWire, { id, prompts, names, ...source }: Source): DecodedLlamaCompletion {
  const common = toCommon(wire)
  const top = pickSpelling(wire, ['n_probs', 'logprobs']) ?? 0
  const output = decodeOutput(common)
  const shared = {
    ...plainRequest,
    ...decodeCommon(common),
    ...decodeForwarded({ user: wire.user }),
    ...decodeServerFields(wire, 'text'),
    ...decodeProgress(wire),
    ...(wire.skip_special_tokens === false && { showsSpecialTokens: true as const }),
    output: output.constraint,
    ...(top > 0 && { logprobs: { top } }),
  }
  const [first, ...rest] = prompts.map((prompt, index) => ({ id: index === 0 ? id : `${id}-${index}`, ...shared, prompt }))
  if (first === undefined) throw new Error('a body without a prompt was validated')
  return {
    ...source,
    requests: [first, ...rest],
    stream: wire.stream ?? false,
    timingsPerToken: wire.timings_per_token === true,
    onlyReads: pickSpelling(wire, spellingsOf.limit) === 0,
    prompts: prompts.map((prompt) => (prompt.type === 'text' ? prompt.text : prompt.type === 'infill' ? prompt.prefix : '')),
    responseFields: wire.response_fields ?? undefined,
    nameOf: (path) => {
      if (path[0] === 'output') return nameOutput(output.param, path)
      return nameField({ ...commonNames, ...names }, wire, path[0] === 'prompt' ? path.slice(0, 2) : path)
    },
  }
}

/** The body with the types of OpenAI's protocols. */
function toCommon(wire: CompletionWire | InfillWire): CommonWire {
  const limits = Object.fromEntries(spellingsOf.limit.flatMap((name) => (wire[name] === 0 ? [[name, 1]] : [])))
  return { ...wire, ...limits } as CommonWire
}

/** The caller writes the template's part. */
function toPrompt(prompt: WirePrompt): Prompt {
  if (typeof prompt === 'string') return { type: 'text', text: prompt, readsControlTokens: true }
  if ('prompt_string' in prompt) return toPrompt(prompt.prompt_string)
  return { type: 'tokens', tokens: prompt }
}
