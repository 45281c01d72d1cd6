import { z } from 'zod'
import { cancelShape } from '../wire/cancel-keys.ts'
import { dictionary, jsonObject, list, looseObject, openObject } from '../wire/first-fault.ts'
import { jsonSchema } from '../wire/json-schema.ts'
import { mcpServers } from '../wire/server-tools/mcp-servers.ts'
import {
  above,
  absentIfEmpty,
  between,
  flag,
  integerFrom,
  limitFrom,
  nonEmptyText,
  stopList,
  text,
  typeOtherThan,
} from '../wire/wire-types.ts'

/** Accepted in blocks and tools: the first is unnecessary, since equal prefixes are always reused; others come back from replies. */
const everywhere = ['cache_control', 'citations', 'caller', 'toolset_name', 'annotations']
const common = { also: everywhere }

/** The type is a hint: the bytes decide. */
const base64Source = looseObject({ type: z.literal('base64'), media_type: text, data: z.string() })
const urlSource = looseObject({ type: z.literal('url'), url: z.string() })
const fileSource = looseObject({ type: z.literal('file'), file_id: z.string() })
const textSource = looseObject({ type: z.literal('text'), data: z.string(), media_type: text })

export const textBlock = looseObject({ type: z.literal('text'), text: z.string() }, common)
const imageBlock = looseObject(
  {
    type: z.literal('image'),
    source: z.discriminatedUnion('type', [base64Source, urlSource, fileSource]),
  },
  common,
)
const contentSource = looseObject({ type: z.literal('content'), content: z.union([z.string(), list(textBlock)]) })
const documentBlock = looseObject(
  {
    type: z.literal('document'),
    source: z.discriminatedUnion('type', [base64Source, urlSource, fileSource, textSource, contentSource]),
    title: text,
    context: text,
  },
  common,
)
const searchResultBlock = looseObject(
  {
    type: z.literal('search_result'),
    source: z.string(),
    title: z.string(),
    content: list(textBlock),
  },
  common,
)

/** A tool that the client's search found: the model may call it from here on. */
const toolReferenceBlock = looseObject({ type: z.literal('tool_reference'), tool_name: nonEmptyText }, common)

const resultContent = z.discriminatedUnion('type', [textBlock, imageBlock, documentBlock, searchResultBlock, toolReferenceBlock])
const toolResultBlock = looseObject(
  {
    type: z.literal('tool_result'),
    tool_use_id: z.string(),
    content: z.union([z.string(), list(resultContent, { error: 'an array of content blocks' })]).nullish(),
    is_error: flag,
  },
  common,
)

/** The blocks of a user or of a late system message. Another type is an error: nothing that a user says is lost in silence. */
const userBlock = z.discriminatedUnion('type', [textBlock, imageBlock, documentBlock, searchResultBlock, toolResultBlock])

const thinkingBlock = looseObject({ type: z.literal('thinking'), thinking: z.string(), signature: text }, common)
const redactedBlock = looseObject({ type: z.literal('redacted_thinking'), data: z.string() }, common)
/** A call of the client's tool, or of one that Anthropic's servers or an MCP server ran. */
const toolUseBlock = looseObject(
  {
    type: z.literal(['tool_use', 'server_tool_use', 'mcp_tool_use']),
    id: z.string(),
    name: nonEmptyText,
    input: jsonObject.nullish(),
    /** For a tool of an MCP server. */
    server_name: text,
  },
  common,
)
export type ToolUseBlock = z.output<typeof toolUseBlock>
/** A summary that replaces the conversation before it. */
const compactionBlock = looseObject({ type: z.literal('compaction'), content: text }, common)
const knownTypes = new Set(['text', 'thinking', 'redacted_thinking', 'compaction', 'tool_use', 'server_tool_use', 'mcp_tool_use'])
const isServerResult = (type: string) => type.endsWith('_tool_result')

/** The result of a tool of Anthropic's servers: `web_search_tool_result`, `mcp_tool_result` and others. */
export type ServerResultBlock = z.output<typeof serverResultBlock>
const serverResultBlock = openObject({
  type: typeOtherThan((type) => !isServerResult(type)),
  tool_use_id: z.string(),
  content: z.unknown().optional(),
  is_error: flag,
}).transform((block) => ({ ...block, type: 'server_result' as const }))

/** Contents of such results whose text the model reads. */
export const sealedResult = openObject({ encrypted_content: nonEmptyText })
export const programResult = openObject({ stdout: z.string(), stderr: z.string(), return_code: z.int() })
export const fetchedPage = openObject({
  content: openObject({ source: openObject({ type: z.literal('text'), data: z.string() }) }),
})

/** Additions of later protocol versions to an assistant's turn. */
const unknownBlock = openObject({ type: typeOtherThan((type) => knownTypes.has(type) || isServerResult(type)) }).transform(
  (block) => ({ ...block, type: 'unknown' as const }),
)

export type AssistantBlock = z.output<typeof assistantBlock>
const knownAssistantBlock = z.discriminatedUnion('type', [textBlock, thinkingBlock, redactedBlock, compactionBlock, toolUseBlock])
const assistantBlock = z.union([knownAssistantBlock, serverResultBlock, unknownBlock])

export type UserBlock = z.output<typeof userBlock>
export type ToolResultBlock = z.output<typeof toolResultBlock>
export type SystemBlock = z.output<typeof textBlock>
export type ResultBlock = z.output<typeof resultContent>
/** A block of content in a user's turn or in a tool's result. */
export type ContentBlock = Exclude<ResultBlock, { type: 'tool_reference' }>

const userMessage = looseObject({
  role: z.literal('user'),
  content: z.union([
    z.string(),
    list(userBlock, { error: 'an array of content blocks' }).min(1, { error: 'at least one content block' }),
  ]),
})
const assistantMessage = looseObject({
  role: z.literal('assistant'),
  content: z.union([z.string(), list(assistantBlock, { error: 'an array of content blocks' })]).nullish(),
})
const systemMessage = looseObject({
  role: z.literal('system'),
  content: z.union([z.string(), list(textBlock, { error: 'an array of text blocks' })]),
})

export type WireMessage = z.output<typeof wireMessage>
const wireMessage = z.discriminatedUnion('role', [userMessage, assistantMessage, systemMessage])

const toolConfig = openObject({ enabled: flag })
/** A tool of the client, or one of Anthropic's, which its `type` names. */
const tool = looseObject(
  {
    type: text,
    name: nonEmptyText.nullish(),
    description: text,
    input_schema: jsonSchema.nullish(),
    strict: flag,
    defer_loading: flag,
    /** For a tool that Anthropic's servers run. */
    max_uses: integerFrom(0),
    allowed_domains: z.unknown().optional(),
    blocked_domains: z.unknown().optional(),
    user_location: z.unknown().optional(),
    /** For a toolset, which has the tools of an MCP server. */
    mcp_server_name: nonEmptyText.nullish(),
    default_config: toolConfig.nullish(),
    configs: dictionary(nonEmptyText, toolConfig, { max: { count: 1000, error: 'an object of at most 1000 tools' } }).nullish(),
  },
  {
    also: [...everywhere, 'eager_input_streaming', 'input_examples', 'allowed_callers'],
    // The settings of Anthropic's own tools are ignored with them.
    reports: ({ type }) => typeof type !== 'string' || type === 'custom',
  },
)
export type WireTool = z.output<typeof tool>

const toolChoice = looseObject({
  type: z.enum(['auto', 'any', 'tool', 'none']),
  name: text,
  disable_parallel_tool_use: flag,
})

/** A type newer than this code lets the model think; only `disabled` switches thinking off. */
const thinking = looseObject({ type: z.string(), budget_tokens: integerFrom(0), display: text })
const outputFormat = looseObject({ type: z.literal('json_schema'), schema: jsonSchema })
const outputConfig = looseObject({ effort: text, format: absentIfEmpty(outputFormat) })
/** Claude Code asks with `keep: 'all'` that the model see all of its reasoning. */
const contextManagement = openObject({ edits: list(looseObject({ type: z.string(), keep: z.unknown().optional() })).nullish() })
const metadata = looseObject({ user_id: text })

/** The fields that a count and a message share. */
const promptShape = {
  model: nonEmptyText,
  messages: list(wireMessage, { error: 'an array of messages' }).min(1, { error: 'at least one message' }),
  system: z.union([z.string(), list(textBlock, { error: 'an array of text blocks' })]).nullish(),
  tools: list(tool).nullish(),
  tool_choice: toolChoice.nullish(),
  mcp_servers: mcpServers.nullish(),
  thinking: thinking.nullish(),
  output_config: outputConfig.nullish(),
  /** The earlier name of `output_config.format`. */
  output_format: outputFormat.nullish(),
  context_management: contextManagement.nullish(),
}

export const countSchema = looseObject(promptShape)
export const messageSchema = looseObject({
  ...promptShape,
  max_tokens: limitFrom(1),
  metadata: metadata.nullish(),
  stop_sequences: stopList(nonEmptyText, 'an array of non-empty strings').nullish(),
  stream: flag,
  temperature: between(0, 2),
  top_k: integerFrom(-1),
  top_p: between(0, 1),
  min_p: between(0, 1),
  repetition_penalty: above(0),
  presence_penalty: between(-2, 2),
  enable_tools: flag,
  enabled_tools: list(nonEmptyText, { error: 'an array of names' }).nullish(),
  diagnostics: looseObject({ previous_message_id: z.string().nullish() }).nullish(),
  container: z.union([nonEmptyText, looseObject({ id: nonEmptyText.nullish() })]).nullish(),
  ...cancelShape,
})

export type CountWire = z.output<typeof countSchema>
/** The body of `POST /v1/messages`. */
export type MessageWire = z.output<typeof messageSchema>
