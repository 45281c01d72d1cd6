import { AppError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/request.ts'
import { indexFields } from '../wire/field-table.ts'
import { unknownKeys } from '../wire/unknown-keys.ts'
import { bodyReader } from '../wire/validate.ts'
import { chatFields } from './fields.ts'
import { type ChatWire, chatSchema, type Integration } from './schema.ts'

const readBody = bodyReader(chatSchema, chatFields, unknownKeys(chatSchema, indexFields(chatFields)))

/** A chat in the words of Responses, whose store its answers share. */
export type DecodedChat = {
  readonly body: JsonObject
  readonly ignored: readonly string[]
  readonly stream: boolean
  /** It has integrations, which are MCP servers here. */
  readonly needsServers: boolean
  /** The labels of the MCP servers whose addresses the request has. */
  readonly ownServers: ReadonlySet<string>
  readonly reasoning: ChatWire['reasoning']
  readonly contextLength: number | undefined
  nameOf(field: string): string
}

/** The body of `POST /api/v1/chat`. Throws `invalid-request` or `unsupported-field` with `param`. */
export function decodeChat(body: unknown): DecodedChat {
  const { wire, ignored } = readBody(body)
  const { model, previous_response_id, store, stream, context_length: contextLength } = wire
  const { temperature, top_p, top_k, min_p, repeat_penalty, max_output_tokens } = wire
  const integrations = wire.integrations ?? []
  const sampling = { temperature, top_p, top_k, min_p, repeat_penalty, max_output_tokens }
  return {
    body: {
      model,
      input: toItems(wire),
      previous_response_id,
      store,
      stream,
      ...sampling,
      ...readReasoning(wire),
      ...(integrations.length > 0 && { tools: integrations.map(toTool) }),
    },
    ignored,
    stream: stream === true,
    needsServers: integrations.length > 0,
    ownServers: new Set(
      integrations.flatMap((one) => (typeof one === 'object' && one.type === 'ephemeral_mcp' ? one.server_label : [])),
    ),
    reasoning: wire.reasoning,
    contextLength: contextLength ?? undefined,
    nameOf: (field) => nameOf(wire, field),
  }
}

/** The system prompt is an item of the input: answers that continue this one see it, too. */
function toItems({ system_prompt: system, input }: ChatWire): readonly JsonObject[] {
  const content =
    typeof input === 'string'
      ? input
      : input.map((item) =>
          item.type === 'image' ? { type: 'input_image', image_url: item.data_url } : { type: 'input_text', text: item.content },
        )
  const hasSystem = system !== undefined && system !== null && system !== ''
  return [...(hasSystem ? [{ role: 'system', content: system }] : []), ...(content.length > 0 ? [{ role: 'user', content }] : [])]
}

function readReasoning({ reasoning }: ChatWire): JsonObject {
  switch (reasoning) {
    case undefined:
    case null:
      return {}
    case 'off':
      return { enable_thinking: false }
    case 'on':
      return { enable_thinking: true }
    case 'low':
    case 'medium':
    case 'high':
      return { reasoning: { effort: reasoning } }
  }
}

const pluginPrefix = 'mcp/'

/** Nobody approves calls in this protocol. */
function toTool(given: Integration, index: number): JsonObject {
  const integration = typeof given === 'string' ? { type: 'plugin' as const, id: given, allowed_tools: undefined } : given
  const common = { type: 'mcp', allowed_tools: integration.allowed_tools, require_approval: 'never' }
  if (integration.type === 'ephemeral_mcp') {
    const { server_label, server_url, headers } = integration
    return { ...common, server_label, server_url, headers }
  }
  if (integration.id.startsWith(pluginPrefix)) return { ...common, server_label: integration.id.slice(pluginPrefix.length) }
  const param = typeof given === 'string' ? `integrations[${index}]` : `integrations[${index}].id`
  const message = `${param} ${JSON.stringify(integration.id)} is not served: of plugins, this server has only MCP servers: send "mcp/LABEL"`
  throw new AppError('unsupported-field', message, { param })
}

/** The id of the plugin that an MCP server of the configuration is here. */
export function pluginId(label: string): string {
  return pluginPrefix + label
}

function nameOf({ integrations, input }: ChatWire, field: string): string {
  const [, tool, member = ''] = /^tools\[(\d+)\](.*)$/.exec(field) ?? []
  if (tool !== undefined) {
    const integration = integrations?.[Number(tool)]
    const path = `integrations[${tool}]`
    if (typeof integration === 'string') return path
    return path + (integration?.type === 'plugin' ? member.replace('.server_label', '.id') : member)
  }
  if (field.startsWith('tools')) return 'integrations'
  if (/^(reasoning|enable_thinking)/.test(field)) return 'reasoning'
  const [, part] = /^input\[\d+\]\.content\[(\d+)\]/.exec(field) ?? []
  if (part !== undefined && typeof input !== 'string') return `input[${part}]${field.endsWith('.image_url') ? '.data_url' : ''}`
  return field.startsWith('input') ? 'input' : field
}
