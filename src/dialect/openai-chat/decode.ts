import { AppError } from '../../contract/errors.ts'
import type { NameOf } from '../../contract/field.ts'
import type { GenerationRequest } from '../../contract/request.ts'
import { decodeCommon, decodeIncludeUsage } from '../openai/decode-common.ts'
import { type DecodedOutput, decodeOutput } from '../openai/decode-output.ts'
import { checkFields, indexFields } from '../wire/field-table.ts'
import { validate } from '../wire/validate.ts'
import { checkNested } from './check-nested.ts'
import { decodeLogprobs } from './decode-logprobs.ts'
import { decodePrompt } from './decode-prompt.ts'
import { decodeReasoning } from './decode-reasoning.ts'
import { type DecodedTools, decodeTools } from './decode-tools.ts'
import { chatFields } from './fields.ts'
import { nameChatField } from './name-field.ts'
import { chatRequestSchema, type WireRequest } from './schema.ts'

const fieldIndex = indexFields(chatFields)

/** A chat completion request in canonical form, with how to answer it. */
export type DecodedChat = {
  readonly request: GenerationRequest
  readonly stream: boolean
  readonly includeUsage: boolean
  /** Calls are answered in the deprecated form, because the tools came in it. */
  readonly legacyCalls: boolean
  /** False: the caller does not want to see how the model reasoned. */
  readonly showsReasoning: boolean
  readonly ignored: readonly string[]
  /** What the caller calls a place of `request`. */
  readonly nameOf: NameOf
}

/** Throws `invalid-request` or `unsupported-field`, with `param`, for a body that Dragoman cannot honour whole. */
export function decodeChat(body: unknown, requestId: string): DecodedChat {
  const wire = validate(chatRequestSchema, body)
  const ignored = checkFields(fieldIndex, wire)
  const ignoredInside = checkNested(wire)
  const tools = decodeTools(wire)
  const { reasoning, isShown } = decodeReasoning(wire)
  const logprobs = decodeLogprobs(wire)
  const { constraint, param: outputField } = decodeChatOutput(wire, tools)
  return {
    request: {
      id: requestId,
      prompt: { tools: tools.tools, ...decodePrompt(wire) },
      toolChoice: tools.toolChoice,
      parallelToolCalls: tools.parallelToolCalls,
      reasoning,
      ...decodeCommon(wire),
      output: constraint,
      ...(logprobs !== undefined && { logprobs }),
    },
    stream: wire.stream ?? false,
    includeUsage: decodeIncludeUsage(wire),
    legacyCalls: tools.legacy,
    showsReasoning: isShown,
    ignored: [...ignored, ...ignoredInside],
    nameOf: (path) => nameChatField(wire, outputField, path),
  }
}

/**
 * With a required call there is no text to constrain. OpenAI takes a `response_format` all the same, because agents send one
 * with every turn; a constraint on the whole output, as other servers have it, contradicts the call.
 */
function decodeChatOutput(wire: WireRequest, { toolChoice }: DecodedTools): DecodedOutput {
  const output = decodeOutput(wire)
  const { constraint, param } = output
  if (constraint.type === 'text' || toolChoice.type !== 'required' || /^response_format\b/.test(param)) return output
  throw new AppError('invalid-request', `${param} constrains the text, and tool_choice leaves none: send one of them`, { param })
}
