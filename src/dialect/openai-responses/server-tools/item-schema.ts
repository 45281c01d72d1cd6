import { z } from 'zod'
import { list, openObject } from '../../wire/first-fault.ts'
import { nonEmptyText, text } from '../../wire/wire-types.ts'

const id = nonEmptyText.nullish()

const webSearchCall = openObject({
  type: z.literal('web_search_call'),
  id,
  action: openObject({ type: text, query: text, url: text }).nullish(),
  /** Ours: the text for the model. Others use `output` and `results` with other meanings. */
  result: text,
})
const codeCall = openObject({
  type: z.literal('code_interpreter_call'),
  id,
  code: text,
  container_id: text,
  outputs: list(openObject({ type: z.string(), logs: text })).nullish(),
})
const mcpCall = openObject({
  type: z.literal('mcp_call'),
  id,
  server_label: z.string(),
  name: nonEmptyText,
  arguments: text,
  output: text,
  error: z.unknown().optional(),
  approval_request_id: text,
})
const mcpListTools = openObject({ type: z.literal('mcp_list_tools'), id })
const approvalRequest = openObject({
  type: z.literal('mcp_approval_request'),
  id: nonEmptyText,
  server_label: z.string(),
  name: nonEmptyText,
  arguments: text,
})
const approvalResponse = openObject({
  type: z.literal('mcp_approval_response'),
  id,
  approval_request_id: nonEmptyText,
  approve: z.boolean(),
  reason: text,
})

export const serverItems = [webSearchCall, codeCall, mcpCall, mcpListTools, approvalRequest, approvalResponse] as const
export const serverItemTypes = [
  'web_search_call',
  'code_interpreter_call',
  'mcp_call',
  'mcp_list_tools',
  'mcp_approval_request',
  'mcp_approval_response',
] as const

export type ServerItem = z.output<(typeof serverItems)[number]>
type Called = Extract<ServerItem, { type: 'web_search_call' | 'code_interpreter_call' | 'mcp_call' }>

/** The model's name of a tool of an MCP server; a tool without a server has its own name. */
export function flatName(server: string, name: string): string {
  return server === '' ? name : `${server}__${name}`
}

/** The call in an item, as the model made it, and the tool's result; undefined if the item lacks them. */
export function readServerCall(
  item: Called,
): { readonly name: string; readonly input: string; readonly result: string; readonly isError?: true } | undefined {
  switch (item.type) {
    case 'web_search_call': {
      const { result, action } = item
      if (typeof result !== 'string') return undefined
      const given = typeof action?.url === 'string' ? { url: action.url } : { query: action?.query ?? '' }
      return { name: 'web_search', input: JSON.stringify(given), result }
    }
    case 'code_interpreter_call': {
      const { outputs, code } = item
      if (!Array.isArray(outputs)) return undefined
      const logs = outputs.flatMap((output) => (typeof output.logs === 'string' ? [output.logs] : []))
      return { name: 'python', input: JSON.stringify({ code: code ?? '' }), result: logs.join('\n') }
    }
    case 'mcp_call': {
      const { server_label: server, name, output, error } = item
      const isError = error !== undefined && error !== null
      if (typeof output !== 'string' && !isError) return undefined
      const result = isError ? errorText(error) : (output ?? '')
      return { name: flatName(server, name), input: item.arguments ?? '{}', result, ...(isError && { isError: true as const }) }
    }
  }
}

const executionError = openObject({ content: list(openObject({ text: z.string() })) })

/** The text of an error, in the forms of OpenAI's versions. */
function errorText(error: unknown): string {
  if (typeof error === 'string') return error
  const read = executionError.safeParse(error)
  return read.success ? read.data.content.map((part) => part.text).join('\n') : JSON.stringify(error)
}
