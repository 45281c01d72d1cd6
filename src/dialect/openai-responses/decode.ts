import { AppError } from '../../contract/errors.ts'
import type { NameOf } from '../../contract/field.ts'
import type { GenerationRequest, ToolApproval } from '../../contract/request.ts'
import { plainChat, plainRequest, plainToolUse } from '../../contract/request.ts'
import type { Sealer } from '../../contract/sealer.ts'
import type { StoredItem } from '../../contract/store.ts'
import { decodeForwarded } from '../openai/decode-forwarded.ts'
import { decodeSampling } from '../openai/decode-sampling.ts'
import { decodeTemplate } from '../openai/prompt-template.ts'
import { decodeServerFields } from '../openai/server-fields.ts'
import { checkFields, indexFields } from '../wire/field-table.ts'
import { unknownKeys } from '../wire/unknown-keys.ts'
import { validate } from '../wire/validate.ts'
import { type Conversation, decodeItems } from './decode-items.ts'
import { decodeFormat, decodeLimits, decodeLogprobs, decodeReasoning, decodeVariables, limitOf } from './decode-options.ts'
import { readReferences } from './decode-references.ts'
import { type DecodedTools, decodeTools } from './decode-tools.ts'
import { dropOldest, replaceOldest } from './drop-oldest.ts'
import { type Entry, readEntries } from './entries.ts'
import { nestedResponseFields, responseFields } from './fields.ts'
import { nameResponseField } from './name-field.ts'
import type { ToolNames } from './namespaces.ts'
import type { WireResponse } from './replies.ts'
import { encodeHead, summaryOf } from './response-head.ts'
import { type ResponseWire, responseSchema } from './schema.ts'
import { Approvals } from './server-tools/approvals.ts'
import type { HostedTools } from './server-tools/decode-hosted.ts'

const fieldIndex = indexFields(responseFields)
const unknownInside = unknownKeys(responseSchema, indexFields(nestedResponseFields))

/** The things that the caller of `decodeResponse` looked up and made. */
export type ResponseContext = {
  readonly id: string
  readonly createdAtMs: number
  readonly sealer: Sealer
  /** The items of the previous response or of the conversation, oldest first. */
  readonly history: readonly StoredItem[]
  /** The items that the input names by id. */
  readonly items: readonly StoredItem[]
  /** The server's tools and MCP servers that the caller may use; absent: none. */
  readonly serverTools?: ReadonlySet<string> | undefined
  /** False: nothing is generated, so that an input may be empty. */
  readonly generates?: boolean
  /** What another protocol in front of responses asks for. */
  readonly terms?: ResponseTerms | undefined
}

/** Terms of a protocol whose answers are responses. */
export type ResponseTerms = {
  /** It shows how far a prompt has been read. */
  readonly tellsProgress?: true
  /** It has no words for a call that needs approval: the model learns that it does. */
  readonly asks?: 'never'
}

/** How a reply shows what its request decides. */
export type ReplyStyle = {
  /** Thoughts are shown as a summary when the request asks for one, and otherwise as they are. */
  readonly thoughts: 'summary' | 'content'
  /** Whether reasoning items have `encrypted_content`. */
  readonly encrypts: boolean
  readonly logprobs: boolean
  readonly names: ToolNames
  readonly sealer: Sealer
  /** The folder of programs that the server runs. */
  readonly container: string
  /** Calls that this request approves or refuses. */
  readonly answered: ReadonlySet<string>
}

/** A Responses request in canonical form, and the options of its reply. */
export type DecodedResponse = {
  readonly request: GenerationRequest
  readonly stream: boolean
  readonly background: boolean
  readonly store: boolean
  /** This call's own items, as responses list them; references are resolved. */
  readonly input: () => readonly StoredItem[]
  /** Fields, tools and items that have no effect. */
  readonly ignored: readonly string[]
  readonly nameOf: NameOf
  readonly truncation: 'auto' | 'disabled'
  /** The number of input tokens above which the conversation is compacted. */
  readonly compactThreshold?: number
  /** The input has a `compaction_trigger`: a compaction is asked for. */
  readonly isCompactionTriggered: boolean
  /** The response before anything of it is known but its request. */
  readonly head: WireResponse
  readonly style: ReplyStyle
  /**
   * The same call without the oldest `count` turns of its conversation, and what went: paths of the input, ids of older items. A call and
   * its result go together; instructions, and what follows the last user's message, stay. Undefined when fewer turns can go.
   */
  withoutOldest(count: number): { readonly decoded: DecodedResponse; readonly dropped: readonly string[] } | undefined
  /** The same call with a compaction in the place of all turns that can go; undefined when none can. */
  compacted(compaction: StoredItem): DecodedResponse | undefined
}

/** Throws `invalid-request` or `unsupported-field`, with `param`, for a body that cannot be served completely. */
export function decodeResponse(body: unknown, context: ResponseContext): DecodedResponse {
  const wire = validate(responseSchema, body, fieldIndex)
  if (context.generates !== false && context.history.length === 0) refuseEmpty(wire)
  const unknown = [...checkFields(fieldIndex, wire), ...unknownIncludes(wire)]
  const nested = unknownInside(body)
  const references = readReferences(body)
  const source = references.conversationId === undefined ? 'previous_response_id' : 'conversation'
  const { entries, input } = readEntries(wire, { history: context.history, items: context.items, source })
  const tools = decodeTools(wire, { entries, available: context.serverTools })
  const listed = listedServers(entries)
  const container = tools.hosted.container ?? lastContainer(entries) ?? context.id.replace(/^resp_/, 'cntr_')
  const decodeWith = (kept: readonly Entry[]): DecodedResponse => {
    const instructions = wire.instructions ?? ''
    const conversation = decodeItems(kept, { instructions, sealer: context.sealer, tools })
    const { request, outputField } = decodeRequest(wire, { ...context, tools, conversation, container, listed })
    return {
      request,
      ignored: [...unknown, ...nested, ...conversation.ignored, ...tools.ignored],
      nameOf: (path) => nameResponseField(wire, { path, outputField, paths: conversation.paths, tools }),
      withoutOldest(count) {
        const left = dropOldest(kept, count)
        if (left === undefined) return undefined
        return { decoded: decodeWith(left.kept), dropped: left.dropped.map(({ label }) => label) }
      },
      compacted(compaction) {
        const shorter = replaceOldest(kept, compaction)
        return shorter === undefined ? undefined : decodeWith(shorter)
      },
      ...common,
    }
  }
  const common = {
    stream: references.stream,
    background: references.background,
    store: references.store,
    input,
    truncation: wire.truncation ?? 'disabled',
    ...thresholdOf(wire),
    isCompactionTriggered: entries.some(({ item }) => item.type === 'compaction_trigger'),
    head: encodeHead(wire, { id: context.id, createdAtMs: context.createdAtMs, references }),
    style: {
      thoughts: summaryOf(wire) === undefined ? 'content' : 'summary',
      encrypts: (wire.include ?? []).includes('reasoning.encrypted_content'),
      logprobs: decodeLogprobs(wire) !== undefined,
      names: tools.names,
      sealer: context.sealer,
      container,
      answered: new Set(new Approvals(entries).answers.map(({ callId }) => callId)),
    },
  } as const
  return decodeWith(entries)
}

/** More than what a probe asks for, and the least that OpenAI allows. */
const leastOutput = 16

/** Throws where nobody says anything that could be answered, unless a client only tries whether the model answers. */
function refuseEmpty(wire: ResponseWire): void {
  const { input, instructions } = wire
  const isProbe = (limitOf(wire) ?? leastOutput) < leastOutput
  if ((input ?? '').length > 0 || (instructions ?? '') !== '' || isProbe) return
  const message = 'input is missing or empty: send a text or items, or continue a response with previous_response_id'
  throw new AppError('invalid-request', message, { param: 'input' })
}

type Decoded = {
  readonly id: string
  readonly tools: DecodedTools
  readonly conversation: Conversation
  readonly container: string
  readonly listed: ReadonlySet<unknown>
} & Pick<ResponseContext, 'terms'>

function decodeRequest(wire: ResponseWire, { id, tools, conversation, container, listed, terms }: Decoded) {
  const logprobs = decodeLogprobs(wire)
  const { constraint, param: outputField } = decodeFormat(wire)
  const compared = wire.prompt_cache_options?.comparison_response_id
  const request: GenerationRequest = {
    id,
    model: wire.model,
    ...plainRequest,
    prompt: {
      type: 'chat',
      ...plainChat,
      messages: conversation.messages,
      tools: tools.tools,
      templateVariables: decodeVariables(wire),
      ...decodeTemplate(wire),
    },
    sampling: decodeSampling(wire),
    toolChoice: tools.toolChoice,
    ...decodeToolUse(wire, { hosted: tools.hosted, approvals: conversation.approvals, container, listed, terms }),
    parallelToolCalls: wire.parallel_tool_calls ?? true,
    reasoning: decodeReasoning(wire),
    output: constraint,
    ...(logprobs !== undefined && { logprobs }),
    ...decodeLimits(wire),
    ...decodeForwarded(wire),
    ...(typeof compared === 'string' && { comparesWith: compared }),
    ...(terms?.tellsProgress === true && { tellsProgress: true }),
    ...decodeServerFields(wire, 'chat'),
  }
  return { request, outputField }
}

type Using = Pick<Decoded, 'container' | 'listed' | 'terms'> & {
  readonly hosted: HostedTools
  readonly approvals: readonly ToolApproval[]
}

/** Throws for an answer about a call of a tool that is not declared. */
function decodeToolUse(wire: ResponseWire, using: Using): Pick<GenerationRequest, 'toolUse'> {
  const { hosted, approvals, container, listed, terms } = using
  if (!hosted.isEmpty) {
    const answered = approvals.length > 0 && { approvals }
    const { max_tool_calls: maximum } = wire
    const limited = typeof maximum === 'number' && (maximum === 0 ? { maxTurns: 0 } : { maxCalls: { '*': maximum } })
    const { mcpServers, ...use } = hosted.use
    const servers = mcpServers?.map((server) => (listed.has(server.label) ? { ...server, isListed: true as const } : server))
    const all = { ...use, ...(servers !== undefined && { mcpServers: servers }) }
    return {
      toolUse: {
        ...plainToolUse,
        showsServers: true,
        ...all,
        ...limited,
        sessionId: container,
        asks: terms?.asks ?? 'by-ending',
        ...answered,
      },
    }
  }
  if (approvals.length === 0) return {}
  const message = 'input answers a request to approve a call, whose tool is not in tools: declare it again'
  throw new AppError('invalid-request', message, { param: 'tools' })
}

/** Labels of MCP servers whose tools the conversation shows. */
function listedServers(entries: readonly Entry[]): ReadonlySet<unknown> {
  const lists = entries.filter(({ item }) => item.type === 'mcp_list_tools' && (item.error ?? null) === null)
  return new Set(lists.map(({ item }) => item.server_label))
}

/** The folder of the last program. */
function lastContainer(entries: readonly Entry[]): string | undefined {
  const last = entries.findLast(({ item }) => item.type === 'code_interpreter_call' && typeof item.container_id === 'string')
  return last?.item.container_id as string | undefined
}

function thresholdOf({ context_management: entries }: ResponseWire): Pick<DecodedResponse, 'compactThreshold'> {
  const compactThreshold = entries?.find(({ type }) => type === 'compaction')?.compact_threshold ?? undefined
  return compactThreshold === undefined ? {} : { compactThreshold }
}

/** Additions to a reply that are known. Others concern tools that are not run here, or images, which are listed anyway. */
const knownIncludes = new Set([
  'reasoning.encrypted_content',
  'message.output_text.logprobs',
  'message.input_image.image_url',
  'web_search_call.results',
  'web_search_call.action.sources',
  'file_search_call.results',
  'code_interpreter_call.outputs',
  'computer_call_output.output.image_url',
])

function unknownIncludes({ include }: ResponseWire): string[] {
  return (include ?? []).flatMap((name, index) => (knownIncludes.has(name) ? [] : [`include[${index}]`]))
}
