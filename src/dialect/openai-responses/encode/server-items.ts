import type { EventOf, ServerToolCall } from '../../../contract/event.ts'
import type { JsonObject } from '../../../contract/request.ts'
import { createIdFor } from '../item-id.ts'
import type { MadeItem, ResponseItem } from '../replies.ts'

/** The list of tools of an MCP server. */
export function listItem({ server, tools, error }: EventOf<'mcp-tools'>): MadeItem {
  const listed = tools.map(({ name, description, parameters }): JsonObject => ({ name, description, input_schema: parameters }))
  return itemOf({ type: 'mcp_list_tools', server_label: server, tools: listed, ...(error !== undefined && { error }) })
}

/** A call that the next request has to approve, by the id of this item. */
export function approvalItem({ name, mcp, arguments: given }: ServerToolCall): MadeItem {
  const called = { server_label: mcp?.server ?? '', name: mcp?.name ?? name, arguments: JSON.stringify(given) }
  return itemOf({ type: 'mcp_approval_request', ...called })
}

function itemOf(json: ResponseItem): MadeItem {
  const id = createIdFor(json.type)
  return { id, json: { id, ...json } }
}
