import { AppError } from '../../contract/errors.ts'
import type { NameOf } from '../../contract/field.ts'
import type { GenerationRequest } from '../../contract/request.ts'
import { plainChat, plainRequest } from '../../contract/request.ts'
import type { Sealer } from '../../contract/sealer.ts'
import type { StoredItem } from '../../contract/store.ts'
import { decodeForwarded } from '../openai/decode-forwarded.ts'
import { decodeSampling } from '../openai/decode-sampling.ts'
import { checkFields, indexFields } from '../wire/field-table.ts'
import { preview } from '../wire/preview.ts'
import { validate } from '../wire/validate.ts'
import { checkNested } from './check-nested.ts'
import { type Conversation, decodeItems, type Entry } from './decode-items.ts'
import { decodeFormat, decodeLimits, decodeLogprobs, decodeReasoning, decodeVariables } from './decode-options.ts'
import { type DecodedTools, decodeTools } from './decode-tools.ts'
import { dropOldest } from './drop-oldest.ts'
import { responseFields } from './fields.ts'
import { wireItem } from './item-schema.ts'
import { nameResponseField } from './name-field.ts'
import type { ToolNames } from './namespaces.ts'
import { normalizeInput } from './normalize-input.ts'
import { type References, readReferences } from './references.ts'
import { encodeHead, type ResponseHead, summaryOf } from './response-head.ts'
import { type ResponseWire, responseSchema } from './schema.ts'

const fieldIndex = indexFields(responseFields)

/** What the caller of `decodeResponse` looked up and made. */
export type ResponseContext = {
  /** The id of the response. */
  readonly id: string
  readonly createdAtMs: number
  readonly sealer: Sealer
  /** The items of the previous response or of the conversation, oldest first. */
  readonly history: readonly StoredItem[]
  /** The items that the input names by id. */
  readonly items: readonly StoredItem[]
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
}

/** A Responses request in canonical form, and the options of its reply. */
export type DecodedResponse = {
  readonly request: GenerationRequest
  readonly stream: boolean
  readonly background: boolean
  readonly store: boolean
  /** This call's own items, as responses list them; references are resolved. */
  readonly input: readonly StoredItem[]
  /** Fields, tools and items that have no effect. */
  readonly ignored: readonly string[]
  readonly nameOf: NameOf
  readonly truncation: 'auto' | 'disabled'
  /** The number of input tokens above which the conversation is compacted. */
  readonly compactThreshold?: number
  /** The input has a `compaction_trigger`: a compaction is asked for. */
  readonly isCompactionTriggered: boolean
  readonly head: ResponseHead
  readonly style: ReplyStyle
  /**
   * The same call without the oldest `count` turns of its conversation, and what went: paths of the input, or the field that the history
   * came from. A call and its result go together; instructions, and what follows the last user's message, stay. Undefined when fewer
   * turns can go.
   */
  withoutOldest(count: number): { readonly decoded: DecodedResponse; readonly dropped: readonly string[] } | undefined
}

/** Throws `invalid-request` or `unsupported-field`, with `param`, for a body that cannot be served completely. */
export function decodeResponse(body: unknown, context: ResponseContext): DecodedResponse {
  const wire = validate(responseSchema, body)
  const unknown = [...checkFields(fieldIndex, wire), ...unknownIncludes(wire)]
  const nested = checkNested(wire)
  const references = readReferences(body)
  const tools = decodeTools(wire)
  const { entries, input } = readEntries(wire, context, references)
  const decodeWith = (kept: readonly Entry[]): DecodedResponse => {
    const instructions = wire.instructions ?? ''
    const conversation = decodeItems(kept, { instructions, sealer: context.sealer, names: tools.names })
    const { request, outputField } = decodeRequest(wire, { id: context.id, tools, conversation })
    return {
      ...common,
      request,
      ignored: [...unknown, ...nested, ...conversation.ignored, ...tools.ignored],
      nameOf: (path) => nameResponseField(wire, { path, outputField, paths: conversation.paths, toolPaths: tools.paths }),
      withoutOldest(count) {
        const left = dropOldest(kept, count)
        if (left === undefined) return undefined
        return { decoded: decodeWith(left.kept), dropped: [...new Set(left.dropped.map(({ path }) => path))] }
      },
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
    head: encodeHead(wire, { ...context, references }),
    style: {
      thoughts: summaryOf(wire) === undefined ? 'content' : 'summary',
      encrypts: (wire.include ?? []).includes('reasoning.encrypted_content'),
      logprobs: decodeLogprobs(wire) !== undefined,
      names: tools.names,
      sealer: context.sealer,
    },
  } as const
  return decodeWith(entries)
}

type Decoded = { readonly id: string; readonly tools: DecodedTools; readonly conversation: Conversation }

function decodeRequest(wire: ResponseWire, { id, tools, conversation }: Decoded) {
  const logprobs = decodeLogprobs(wire)
  const { constraint, param: outputField } = decodeFormat(wire)
  const request: GenerationRequest = {
    ...plainRequest,
    id,
    model: wire.model,
    prompt: {
      type: 'chat',
      ...plainChat,
      messages: conversation.messages,
      tools: tools.tools,
      templateVariables: decodeVariables(wire),
    },
    sampling: decodeSampling(wire),
    toolChoice: tools.toolChoice,
    parallelToolCalls: wire.parallel_tool_calls ?? true,
    reasoning: decodeReasoning(wire),
    output: constraint,
    ...(logprobs !== undefined && { logprobs }),
    ...decodeLimits(wire),
    ...decodeForwarded(wire),
  }
  return { request, outputField }
}

/** The whole conversation, and this call's part of it. Throws for a reference to an item that is not there. */
function readEntries(wire: ResponseWire, { history, items }: ResponseContext, { conversationId }: References) {
  const source = conversationId === undefined ? 'previous_response_id' : 'conversation'
  const entries: Entry[] = history.map(({ json }) => ({ item: validate(wireItem, json), path: source, isHistory: true }))
  const input: StoredItem[] = []
  const given = Array.isArray(wire.input) ? wire.input : []
  for (const [index, normal] of normalizeInput(wire.input).entries()) {
    const item = given[index]
    const path = item === undefined ? 'input' : `input[${index}]`
    const stored = item?.type === 'item_reference' ? findItem(items, item.id, path) : normal
    if (stored !== undefined) input.push(stored)
    if (stored !== undefined) entries.push({ item: validate(wireItem, stored.json), path, isHistory: false })
    else if (item !== undefined) entries.push({ item, path, isHistory: false })
  }
  return { entries, input }
}

function findItem(items: readonly StoredItem[], id: unknown, path: string): StoredItem {
  const found = items.find((item) => item.id === id)
  if (found !== undefined) return found
  const param = `${path}.id`
  throw new AppError('invalid-request', `${param} ${preview(id)} is not a stored item: send the item itself`, { param })
}

function thresholdOf({ context_management: entries }: ResponseWire): Pick<DecodedResponse, 'compactThreshold'> {
  const compactThreshold = entries?.find(({ type }) => type === 'compaction')?.compact_threshold ?? undefined
  return compactThreshold === undefined ? {} : { compactThreshold }
}

/** What a reply may have besides; others are of tools that are not run here, or of images, which are listed anyway. */
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
