import { AppError } from '../../core/errors.ts'
import { type GenerationRequest, type Prompt, plainRequest } from '../../core/request.ts'
import { indexFields, listIgnored, refuseUnsupported } from '../field-table.ts'
import { nestedConstraintFields } from '../openai/common-fields.ts'
import { decodeCommon, decodeIncludeUsage } from '../openai/decode-common.ts'
import { decodeOutput } from '../openai/decode-output.ts'
import { checkCommonNested, createNestedCheck } from '../openai/nested-check.ts'
import { validate } from '../validate.ts'
import { completionFields, defaultMaxTokens } from './fields.ts'
import { completionRequestSchema, type WireRequest } from './schema.ts'

const fieldIndex = indexFields(completionFields)
const nestedIndex = indexFields(nestedConstraintFields)

/** A text completion request in canonical form, one request for each prompt, with how to answer it. */
export type DecodedCompletion = {
  readonly requests: readonly [GenerationRequest, ...GenerationRequest[]]
  /** What the text of each prompt's choices begins with. */
  readonly echoes: readonly string[]
  readonly stream: boolean
  readonly includeUsage: boolean
  readonly ignored: readonly string[]
}

/** Throws `invalid-request` or `unsupported-field`, with `param`, for a body that Dragoman cannot honour whole. */
export function decodeCompletion(body: unknown, requestId: string): DecodedCompletion {
  const wire = validate(completionRequestSchema, body)
  refuseUnsupported(fieldIndex, wire)
  const nested = createNestedCheck(nestedIndex)
  checkCommonNested(nested, wire)
  const [first, ...rest] = decodePrompts(wire.prompt)
  const { logprobs } = wire
  const output = decodeOutput(wire)
  const shared = {
    ...plainRequest,
    maxOutputTokens: defaultMaxTokens,
    ...decodeCommon(wire),
    output: output.constraint,
    ...(output.constraint.type !== 'text' && { outputParam: output.param }),
    ...(typeof logprobs === 'number' && { logprobs: { top: logprobs } }),
  }
  return {
    requests: [
      { ...shared, id: requestId, prompt: first },
      ...rest.map((prompt, index) => ({ ...shared, id: `${requestId}-${index + 1}`, prompt })),
    ],
    echoes: [first, ...rest].map((prompt) => decodeEcho(wire, prompt)),
    stream: wire.stream ?? false,
    includeUsage: decodeIncludeUsage(wire),
    ignored: [...listIgnored(fieldIndex, wire), ...nested.ignored],
  }
}

function decodePrompts(prompt: WireRequest['prompt']): [Prompt, ...Prompt[]] {
  if (typeof prompt === 'string') return [{ type: 'text', text: prompt }]
  if (isTokens(prompt)) return [{ type: 'tokens', tokens: prompt }]
  const [first, ...rest] = prompt.map(decodePrompt)
  if (first === undefined) throw new Error('an empty array of prompts was validated')
  return [first, ...rest]
}

function isTokens(prompt: readonly (string | number | readonly number[])[]): prompt is readonly number[] {
  return typeof prompt[0] === 'number'
}

function decodePrompt(prompt: string | number | readonly number[]): Prompt {
  if (typeof prompt === 'string') return { type: 'text', text: prompt }
  return { type: 'tokens', tokens: typeof prompt === 'number' ? [prompt] : prompt }
}

function decodeEcho({ echo, logprobs }: WireRequest, prompt: Prompt): string {
  if (echo !== true) return ''
  if (prompt.type !== 'text') throw unsupported('token ids are not turned back into text: send the prompt as text, or echo false')
  if (typeof logprobs === 'number') {
    throw unsupported('only generated tokens have log-probabilities: leave logprobs out, or send echo false')
  }
  return prompt.text
}

function unsupported(reason: string): AppError {
  return new AppError('unsupported-field', `echo true is not supported here: ${reason}`, { param: 'echo' })
}
