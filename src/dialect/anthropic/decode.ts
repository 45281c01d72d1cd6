import { AppError } from '../../contract/errors.ts'
import type { CanonicalPath, NameOf } from '../../contract/field.ts'
import {
  type ChatPrompt,
  type GenerationRequest,
  type OutputConstraint,
  plainChat,
  plainRequest,
  plainToolUse,
  type ReasoningOptions,
} from '../../contract/request.ts'
import type { Sampling } from '../../contract/sampling.ts'
import { type FieldNames, formatRest, nameField } from '../wire/field-names.ts'
import { checkFields, indexFields } from '../wire/field-table.ts'
import { compactJson, losesDigits, objectTexts } from '../wire/json/exact-json.ts'
import { type MessagePaths, nameMessage } from '../wire/message-paths.ts'
import { nameInMcpServer } from '../wire/server-tools/mcp-servers.ts'
import { unknownKeys } from '../wire/unknown-keys.ts'
import { validate } from '../wire/validate.ts'
import { type ConversationSources, decodeMessages } from './decode-messages.ts'
import { type DecodedTools, decodeTools, enablesTools } from './decode-tools.ts'
import { countFields, messageFields } from './fields.ts'
import type { Available, HostedTools } from './hosted-tools.ts'
import { type CountWire, countSchema, type MessageWire, messageSchema } from './schema.ts'

const messageIndex = indexFields(messageFields)
const countIndex = indexFields(countFields)
const unknownInside = unknownKeys(messageSchema)

type DecodedMessage = {
  readonly request: GenerationRequest
  readonly stream: boolean
  /** `shown`: thinking blocks with their text; `omitted`: only with a signature; `none`: no blocks. */
  readonly thinking: 'shown' | 'omitted' | 'none'
  /** The name of the folder for programs that the server runs. */
  readonly container: string
  readonly ignored: readonly string[]
  readonly nameOf: NameOf
}

type DecodedCount = Pick<GenerationRequest, 'model' | 'reasoning' | 'toolChoice' | 'toolUse'> & {
  readonly prompt: ChatPrompt
  readonly ignored: readonly string[]
  readonly nameOf: NameOf
}

type DecodeSources = Pick<ConversationSources, 'sealer'> & {
  /** As in `CallInput`. */
  readonly exactBody?: string | undefined
  readonly serverTools?: Available
}

/** Throws `invalid-request` or `unsupported-field`, with `param`, for a body that cannot be served completely. */
export function decodeMessage(body: unknown, { id, ...sources }: DecodeSources & { readonly id: string }): DecodedMessage {
  const wire = validate(messageSchema, body, messageIndex)
  const ignored = checkFields(messageIndex, wire)
  const { parallelToolCalls, ignored: ignoredInside, nameOf, hosted, ...asked } = decodePrompt(wire, sources)
  const container = containerOf(wire) ?? id
  const compared = wire.diagnostics?.previous_message_id
  return {
    request: {
      id,
      ...plainRequest,
      ...asked,
      ...decodeToolUse(wire, { hosted, container }),
      parallelToolCalls,
      sampling: decodeSampling(wire),
      output: decodeOutput(wire),
      ...(wire.max_tokens > 0 && { maxOutputTokens: wire.max_tokens }),
      stop: wire.stop_sequences ?? [],
      ...(wire.stream === true && { tellsInputFirst: true }),
      ...(typeof compared === 'string' && { comparesWith: compared }),
    },
    stream: wire.stream ?? false,
    thinking: readDisplay(wire),
    container,
    ignored: [...ignored, ...ignoredInside, ...unknownInside(body)],
    nameOf,
  }
}

/** As `decodeMessage`, for `POST /v1/messages/count_tokens`. */
export function decodeCount(body: unknown, sources: DecodeSources): DecodedCount {
  const wire = validate(countSchema, body, countIndex)
  const ignored = checkFields(countIndex, wire)
  const { parallelToolCalls: _, hosted, ignored: ignoredInside, ...asked } = decodePrompt(wire, sources)
  const use = hosted.isEmpty ? {} : { toolUse: { ...plainToolUse, ...hosted.use } }
  return { ignored: [...ignored, ...ignoredInside, ...unknownInside(body)], ...asked, ...use }
}

function decodePrompt(wire: CountWire, { sealer, exactBody, serverTools }: DecodeSources) {
  const tools = decodeTools(wire, serverTools)
  const conversation = decodeMessages(wire, { sealer, exactInputs: findExactInputs(exactBody), tools: tools.tools })
  const { messages } = conversation
  const last = messages.at(-1)
  const isEmpty =
    messages.length > 1 && last?.role === 'assistant' && last.parts.every((part) => part.type === 'text' && part.text === '')
  const prompt: ChatPrompt = {
    type: 'chat',
    ...plainChat,
    // A last assistant message is the beginning of the answer; Anthropic allows it to be empty.
    messages: isEmpty ? messages.slice(0, -1) : messages,
    tools: tools.tools,
    start: last?.role === 'assistant' && !isEmpty ? 'last-message' : 'new-turn',
  }
  const nameOf = (path: CanonicalPath) => nameMessageField(wire, { path, paths: conversation.paths, tools })
  return {
    model: wire.model,
    prompt,
    toolChoice: tools.toolChoice,
    hosted: tools.hosted,
    parallelToolCalls: tools.parallelToolCalls,
    reasoning: decodeReasoning(wire),
    ignored: [...conversation.ignored, ...tools.ignored],
    nameOf,
  }
}

/** Callers cannot be asked here: Anthropic's protocol has no approvals. */
function decodeToolUse(wire: MessageWire, { hosted, container }: Using): Pick<GenerationRequest, 'toolUse'> {
  const { enabled_tools: enabled } = wire
  const session = { ...plainToolUse, sessionId: container }
  if (!enablesTools(wire)) return hosted.isEmpty ? {} : { toolUse: { ...session, ...hosted.use } }
  const { names: _, ...servers } = hosted.use
  // Without a list: all that the caller may use.
  if ((wire.tools ?? []).length === 0)
    return { toolUse: { ...session, ...servers, ...(enabled && { names: [...new Set(enabled)] }) } }
  const message = 'tools name what the reply may call, and enable_tools enables what the server has: send one of them'
  throw new AppError('invalid-request', message, { param: 'tools' })
}

type Using = { readonly hosted: HostedTools; readonly container: string }

function containerOf({ container }: MessageWire): string | undefined {
  return (typeof container === 'string' ? container : container?.id) ?? undefined
}

/** Anthropic's models think on request; with `adaptive` they decide, like the template's default. */
function decodeReasoning({ thinking, output_config, context_management }: CountWire): ReasoningOptions {
  const effort = output_config?.effort ?? undefined
  const options = effort === undefined ? {} : { effort }
  const isKept = context_management?.edits?.some(({ type, keep }) => type.startsWith('clear_thinking') && keep === 'all') === true
  const preserve = isKept && ({ preserve: true, isWish: true } as const)
  if (thinking === undefined || thinking === null) return { ...options, enabled: false, isWish: true }
  if (thinking.type === 'disabled') return { ...options, enabled: false }
  if (thinking.type === 'adaptive') return { ...options, ...preserve }
  const { budget_tokens: budget } = thinking
  return { ...options, ...preserve, enabled: true, ...(typeof budget === 'number' && { budgetTokens: budget }), isWish: true }
}

function readDisplay({ thinking }: CountWire): DecodedMessage['thinking'] {
  if (thinking === undefined || thinking === null || thinking.type === 'disabled') return 'none'
  return thinking.display === 'omitted' ? 'omitted' : 'shown'
}

function decodeOutput({ output_config, output_format }: CountWire): OutputConstraint {
  const format = output_config?.format ?? output_format
  if (!format) return { type: 'text' }
  if (output_config?.format && output_format) {
    const message = 'output_format is the old name of output_config.format: send one of them'
    throw new AppError('invalid-request', message, { param: 'output_format' })
  }
  return { type: 'json-schema', schema: format.schema, strict: false }
}

function decodeSampling(wire: MessageWire): Sampling {
  const { temperature, top_p, top_k, min_p, repetition_penalty, presence_penalty } = wire
  return {
    ...(typeof temperature === 'number' && { temperature }),
    ...(typeof top_p === 'number' && { topP: top_p }),
    ...(typeof top_k === 'number' && { topK: Math.max(0, top_k) }),
    ...(typeof min_p === 'number' && { minP: min_p }),
    ...(typeof repetition_penalty === 'number' && { repetitionPenalty: repetition_penalty }),
    ...(typeof presence_penalty === 'number' && { presencePenalty: presence_penalty }),
  }
}

const names: FieldNames = {
  model: ['model'],
  prompt: ['messages'],
  'prompt.messages': ['messages'],
  'prompt.tools': ['tools'],
  'prompt.start': ['messages'],
  toolChoice: ['tool_choice'],
  parallelToolCalls: ['tool_choice.disable_parallel_tool_use'],
  reasoning: ['thinking'],
  'reasoning.enabled': ['thinking'],
  'reasoning.effort': ['output_config.effort'],
  'reasoning.budgetTokens': ['thinking.budget_tokens'],
  'reasoning.preserve': ['context_management'],
  output: ['output_config.format', 'output_format'],
  'output.schema': ['output_config.format.schema', 'output_format.schema'],
  maxOutputTokens: ['max_tokens'],
  stop: ['stop_sequences'],
  'sampling.temperature': ['temperature'],
  'sampling.topP': ['top_p'],
  'sampling.topK': ['top_k'],
  'sampling.minP': ['min_p'],
  'sampling.repetitionPenalty': ['repetition_penalty'],
  'sampling.presencePenalty': ['presence_penalty'],
}

type Named = {
  readonly path: CanonicalPath
  readonly paths: readonly MessagePaths[]
  readonly tools: Pick<DecodedTools, 'indices' | 'hosted'>
}

/** The client's name for a path of a request: messages and tools keep their original places. */
function nameMessageField(wire: object, { path, paths, tools }: Named): string {
  const [root, second, index] = path
  if (root === 'prompt' && second === 'messages') return nameMessage(wire, paths, path) ?? 'messages'
  if (root === 'prompt' && second === 'tools' && typeof index === 'number') {
    const [field, ...inside] = path.slice(3)
    const name = field === 'parameters' ? 'input_schema' : field
    return `tools[${tools.indices[index] ?? index}]${name === undefined ? '' : `.${name}`}${formatRest(inside)}`
  }
  if (root === 'toolUse' && second === 'mcpServers' && typeof index === 'number') {
    return nameInMcpServer(tools.hosted.pathOf(index), path)
  }
  if (root === 'toolUse') return second === 'sessionId' ? 'container' : 'tools'
  return nameField(names, wire, path)
}

/** The inputs of calls whose numbers do not fit a double, as JSON, by their paths in the body. */
function findExactInputs(body: string | undefined): ReadonlyMap<string, string> {
  const exact = new Map<string, string>()
  if (body === undefined) return exact
  for (const [path, text] of objectTexts(body, isInput)) if (losesDigits(text)) exact.set(path, compactJson(text))
  return exact
}

/** `messages[0].content[1].input` */
function isInput([messages, index, content, position, input, ...rest]: CanonicalPath): boolean {
  return (
    messages === 'messages' &&
    typeof index === 'number' &&
    content === 'content' &&
    typeof position === 'number' &&
    input === 'input' &&
    rest.length === 0
  )
}
