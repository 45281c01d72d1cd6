import type { GenerationEvent, ServerToolCall } from '../../contract/event.ts'
import { toFrameJson } from '../wire/json/frame-json.ts'

const previewChars = 60

/** Separates the text of a result from the names of its pictures, for Unsloth's page. */
const imagesMark = '\n__IMAGES__:'

/**
 * Unsloth's frames about server tools, between the chunks of a stream. Each call has one start, which says whether it waits for an
 * approval. A call that is neither made nor asked about has no frames.
 */
export class ToolFrames {
  /** Calls that have started but not ended. */
  readonly #calls = new Map<string, ServerToolCall>()

  /** The frames for an event, in addition to its chunks. */
  encode(event: GenerationEvent): string {
    switch (event.type) {
      case 'approval-request': {
        const { call } = event
        this.#calls.set(call.id, call)
        const asked = { arguments: call.arguments, approval_id: call.id, awaiting_confirmation: true }
        const start = callFrame('tool_start', call, asked) + callFrame('tool_confirm', call, { arguments: call.arguments })
        return status(`Waiting for approval: ${statusOf(call)}`) + start
      }
      case 'server-tool-start': {
        const { call, isMade } = event
        if (isMade === false) return ''
        // With the call's id, the status says that the call no longer waits.
        if (this.#calls.has(call.id)) return status(statusOf(call), { tool_call_id: call.id })
        this.#calls.set(call.id, call)
        return status(statusOf(call)) + callFrame('tool_start', call, { arguments: call.arguments })
      }
      case 'server-tool-end': {
        const call = this.#calls.get(event.id)
        if (call === undefined || !this.#calls.delete(event.id)) return ''
        const { text, isError, pictures = [] } = event.outcome
        const result = pictures.length > 0 ? `${text}${imagesMark}${JSON.stringify(pictures)}` : text
        const images = pictures.length > 0 && { images: pictures }
        return callFrame('tool_end', call, { result, ...(isError && { is_error: true }), ...images }) + status('')
      }
      default:
        return ''
    }
  }
}

function status(content: string, fields: object = {}): string {
  return frame({ type: 'tool_status', content, ...fields })
}

function callFrame(type: string, { id, name }: ServerToolCall, fields: object): string {
  return frame({ type, tool_name: name, tool_call_id: id, ...fields })
}

function frame(fields: object): string {
  return `data: ${toFrameJson(fields)}\n\n`
}

/** The status text while a tool runs. */
function statusOf({ name, kind, arguments: { query, url, command }, mcp }: ServerToolCall): string {
  switch (kind) {
    case 'web-search':
      return typeof url === 'string' && url !== '' ? `Reading ${hostOf(url)}` : `Searching: ${preview(query)}`
    case 'python':
      return 'Running Python'
    case 'terminal':
      return `Running: ${preview(command)}`
    case 'mcp':
      return mcp === undefined ? `Calling ${name}` : `Calling ${mcp.name} of ${mcp.server}`
  }
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : preview(url)
}

function preview(value: unknown): string {
  const text = typeof value === 'string' ? value.replace(/\s+/g, ' ').trim() : ''
  return text.length > previewChars ? `${text.slice(0, previewChars).replace(/[\ud800-\udbff]$/, '')}…` : text
}
