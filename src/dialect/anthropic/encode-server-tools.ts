import type { ServerToolCall } from '../../contract/event.ts'
import type { JsonObject } from '../../contract/request.ts'
import type { Sealer } from '../../contract/sealer.ts'
import type { ToolOutcome } from '../../contract/server-tool.ts'
import { picturePath } from '../wire/picture-path.ts'
import { seal } from '../wire/sealed.ts'
import type { ContentBlock } from './replies.ts'

const caller = { type: 'direct' } as const

type Style = {
  readonly sealer: Sealer
  /** The name of the folder for programs. */
  readonly container: string
}

/** The block of a server tool's call. Its input is separate: streams begin without it. */
export function encodeServerCall(call: ServerToolCall, input: JsonObject): ContentBlock {
  const { mcp } = call
  const id = idOf(call)
  if (mcp !== undefined) return { type: 'mcp_tool_use', id, name: mcp.name, server_name: mcp.server, input }
  return { type: 'server_tool_use', id, name: nameOf(call), input, caller }
}

export function encodeOutcome(call: ServerToolCall, outcome: ToolOutcome, { sealer, container }: Style): ContentBlock {
  const tool_use_id = idOf(call)
  const { text, isError } = outcome
  switch (nameOf(call)) {
    case 'web_search':
      return { type: 'web_search_tool_result', tool_use_id, caller, content: searchContent(outcome, sealer) }
    case 'web_fetch':
      return { type: 'web_fetch_tool_result', tool_use_id, caller, content: pageContent(call, outcome) }
    case 'code_execution':
      return { type: 'code_execution_tool_result', tool_use_id, content: programContent('code_execution', outcome, container) }
    case 'bash_code_execution': {
      const content = programContent('bash_code_execution', outcome, container)
      return { type: 'bash_code_execution_tool_result', tool_use_id, content }
    }
    case undefined:
      return { type: 'mcp_tool_result', tool_use_id, is_error: isError, content: [{ type: 'text', text, citations: null }] }
  }
}

/** Counts calls of server tools as Anthropic does. */
export class ServerToolCount {
  #searches = 0
  #pages = 0

  add(call: ServerToolCall): void {
    const name = nameOf(call)
    if (name === 'web_search') this.#searches += 1
    if (name === 'web_fetch') this.#pages += 1
  }

  /** Null without calls. */
  toJson(): JsonObject | null {
    if (this.#searches + this.#pages === 0) return null
    return { web_search_requests: this.#searches, web_fetch_requests: this.#pages }
  }
}

/** Anthropic's name; undefined for a tool of an MCP server. */
function nameOf({ kind, arguments: given }: ServerToolCall) {
  switch (kind) {
    case 'web-search':
      return typeof given.url === 'string' ? 'web_fetch' : 'web_search'
    case 'python':
      return 'code_execution'
    case 'terminal':
      return 'bash_code_execution'
    case 'mcp':
      return undefined
  }
}

/** Anthropic's ids have a prefix, and only letters and digits. */
function idOf({ id, mcp }: ServerToolCall): string {
  return `${mcp === undefined ? 'srvtoolu' : 'mcptoolu'}_${id.replace(/\W/g, '_')}`
}

/** The text that the model read is in the first result, sealed: it reads it again when the block comes back. */
function searchContent({ text, isError, sources = [] }: ToolOutcome, sealer: Sealer): unknown {
  if (isError) return { type: 'web_search_tool_result_error', error_code: 'unavailable' }
  return sources.map(({ url, title }, index) => {
    const encrypted = index === 0 ? seal(sealer, { kind: 'result', text }) : ''
    return { type: 'web_search_result', url, title, encrypted_content: encrypted, page_age: null }
  })
}

function pageContent({ arguments: given }: ServerToolCall, { text, isError, sources }: ToolOutcome): JsonObject {
  if (isError) return { type: 'web_fetch_tool_result_error', error_code: 'url_not_accessible' }
  const source = { type: 'text', media_type: 'text/plain', data: text }
  const document = { type: 'document', source, title: sources?.[0]?.title ?? null, citations: null }
  return { type: 'web_fetch_result', url: given.url, retrieved_at: null, content: document }
}

/** A program's output on both streams is one text, in order; the server's remarks are separate. */
function programContent(type: string, outcome: ToolOutcome, container: string): JsonObject {
  const { text, isError, exitCode, printed, remark = '', pictures = [] } = outcome
  const failed = printed === undefined && isError
  const streams = failed ? { stdout: '', stderr: text } : { stdout: printed ?? text, stderr: remark }
  const content = pictures.map((name) => ({ type: `${type}_output`, file_id: picturePath(container, name) }))
  return { type: `${type}_result`, ...streams, return_code: exitCode ?? (isError ? 1 : 0), content }
}
