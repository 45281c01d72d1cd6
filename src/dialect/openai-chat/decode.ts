import { AppError } from '../../contract/errors.ts'
import type { NameOf } from '../../contract/field.ts'
import { type GenerationRequest, plainToolUse, type ToolUse } from '../../contract/request.ts'
import { nestedConstraintFields } from '../openai/common-fields.ts'
import { decodeCommon, decodeIncludeUsage } from '../openai/decode-common.ts'
import { decodeForwarded } from '../openai/decode-forwarded.ts'
import { type DecodedOutput, decodeOutput } from '../openai/decode-output.ts'
import { refusePromptLogprobsInStream } from '../openai/logprobs/prompt-logprobs.ts'
import { decodeServerFields } from '../openai/server-fields.ts'
import { pickSpelling } from '../openai/spelling.ts'
import { decodeProgress } from '../openai/times/running-fields.ts'
import { checkFields, indexFields } from '../wire/field-table.ts'
import { readMcpServers } from '../wire/server-tools/mcp-servers.ts'
import { unknownKeys } from '../wire/unknown-keys.ts'
import { validate } from '../wire/validate.ts'
import { decodeMessages } from './decode-messages.ts'
import { decodePrompt } from './decode-prompt.ts'
import { decodeReasoning } from './decode-reasoning.ts'
import { type DecodedTools, decodeTools } from './decode-tools.ts'
import { chatFields } from './fields.ts'
import { nameChatField } from './name-field.ts'
import { isPlainBody } from './plain-body.ts'
import { type ChatWire, chatRequestSchema } from './schema.ts'
import { type KeptRequest, keptRequest } from './stored.ts'

const fieldIndex = indexFields(chatFields)
const unknownInside = unknownKeys(chatRequestSchema, indexFields(nestedConstraintFields))

/** A chat completion request in canonical form, and the options of its reply. */
type DecodedChat = {
  readonly request: GenerationRequest
  readonly stream: boolean
  readonly includeUsage: boolean
  /** Each chunk of the stream has the timings so far. */
  readonly timingsPerToken: boolean
  /** The reply contains calls in the deprecated form, like the request's tools. */
  readonly legacyCalls: boolean
  readonly showsReasoning: boolean
  /** The part of the request to store with its reply, if requested. */
  readonly kept: KeptRequest | undefined
  readonly ignored: readonly string[]
  /** The client's name for a path of `request`. */
  readonly nameOf: NameOf
}

/** Throws `invalid-request` or `unsupported-field`, with `param`, for a body that Dragoman cannot serve completely. */
export function decodeChat(body: unknown, requestId: string, keepsAll = false): DecodedChat {
  const wire = isPlainBody(body) ? body : validate(chatRequestSchema, body, fieldIndex)
  const ignored = checkFields(fieldIndex, wire)
  const ignoredInside = unknownInside(body)
  const toolUse = decodeToolUse(wire)
  const tools = decodeTools(wire, toolUse !== undefined)
  const { reasoning, isShown } = decodeReasoning(wire)
  const logprobs = decodeLogprobs(wire)
  const promptTop = wire.prompt_logprobs ?? undefined
  if (promptTop !== undefined) refusePromptLogprobsInStream(wire)
  const { constraint, param: outputField } = decodeChatOutput(wire, tools)
  const { messages, paths, ignored: ignoredTexts } = decodeMessages(wire)
  return {
    request: {
      id: requestId,
      prompt: { tools: tools.tools, ...decodePrompt(wire, messages) },
      toolChoice: tools.toolChoice,
      parallelToolCalls: tools.parallelToolCalls,
      ...(toolUse !== undefined && { toolUse }),
      reasoning,
      ...decodeCommon(wire.n_predict === 0 ? { ...wire, n_predict: 1 } : wire),
      output: constraint,
      ...(logprobs !== undefined && { logprobs }),
      ...(promptTop !== undefined && { promptTokens: { logprobs: { top: promptTop } } }),
      ...decodeForwarded(wire),
      ...decodeServerFields(wire, 'chat'),
      ...decodeProgress(wire),
    },
    stream: wire.stream ?? false,
    includeUsage: decodeIncludeUsage(wire),
    timingsPerToken: wire.timings_per_token === true,
    legacyCalls: tools.legacy,
    showsReasoning: isShown,
    kept: keptRequest(wire, keepsAll),
    ignored: [...ignored, ...ignoredInside, ...ignoredTexts],
    nameOf: (path) => nameChatField(wire, { path, outputField, paths }),
  }
}

/**
 * A required call leaves no text to constrain. OpenAI accepts a `response_format` nevertheless, since agents send one with every turn;
 * other servers' constraints on the complete output contradict the call.
 */
function decodeChatOutput(wire: ChatWire, { toolChoice }: DecodedTools): DecodedOutput {
  const output = decodeOutput(wire)
  const { constraint, param } = output
  if (constraint.type === 'text' || toolChoice.type !== 'required' || /^response_format\b/.test(param)) return output
  throw new AppError(
    'invalid-request',
    `${param} constrains the text, but tool_choice requires a call instead of text: send one of them`,
    { param },
  )
}

/** OpenAI's pair of fields, or llama.cpp's number instead of both, or tabbyAPI's number, which above 1 is that of top log-probabilities. */
function decodeLogprobs({ logprobs, n_probs, top_logprobs: top }: ChatWire): { readonly top: number } | undefined {
  const named = n_probs === 0 ? undefined : n_probs
  const top_logprobs = pickSpelling({ top_logprobs: top, n_probs: named }, ['top_logprobs', 'n_probs'])
  if (typeof named === 'number') return { top: named }
  if (typeof logprobs === 'number' && logprobs > 0) return { top: top_logprobs ?? (logprobs > 1 ? logprobs : 0) }
  if (logprobs === true) return { top: top_logprobs ?? 0 }
  if (typeof top_logprobs === 'number' && top_logprobs > 0) {
    throw new AppError('invalid-request', `top_logprobs ${top_logprobs} requires logprobs true: send both`, {
      param: 'top_logprobs',
    })
  }
  return undefined
}

/** From here on, Unsloth's numbers stand for no limit. */
const unlimited = 9999

/** The server tools that a request enables; undefined: none. Throws for tools of the client beside them. */
function decodeToolUse(wire: ChatWire): ToolUse | undefined {
  const servers = readMcpServers(wire.mcp_servers).map(({ use }) => use)
  if (wire.enable_tools !== true || (wire.enabled_tools?.length === 0 && servers.length === 0)) return undefined
  const declared = (['tools', 'functions'] as const).find((name) => (wire[name] ?? []).length > 0)
  if (declared !== undefined) {
    const message =
      `${declared} are run by the client, and enable_tools has the server run its own: send one of them, or both in a request to ` +
      '/v1/responses'
    throw new AppError('invalid-request', message, { param: declared })
  }
  const { maxTurns, ...plain } = plainToolUse
  const timeoutSeconds = wire.tool_call_timeout
  return {
    ...plain,
    ...(wire.enabled_tools !== undefined && wire.enabled_tools !== null && { names: [...new Set(wire.enabled_tools)] }),
    ...(servers.length > 0 && { mcpServers: servers }),
    maxTurns: limitOf(wire.max_tool_calls_per_message) ?? maxTurns,
    ...(timeoutSeconds !== undefined && timeoutSeconds !== null && { timeoutMs: (limitOf(timeoutSeconds) ?? 0) * 1000 }),
    heals: wire.auto_heal_tool_calls ?? true,
    approves: wire.permission_mode === 'ask' || wire.confirm_tool_calls === true ? 'all' : 'marked',
  }
}

function limitOf(number: number | null | undefined): number | undefined {
  if (number === undefined || number === null) return undefined
  return number >= unlimited ? Number.POSITIVE_INFINITY : number
}
