import type { GenerationEvent, ServerToolCall } from '../../contract/event.ts'
import { toFrameJson } from '../wire/json/frame-json.ts'

const previewChars = 60

/** Unsloth's frames about tools of the server, between the chunks of a stream. */
export class ToolFrames {
  readonly #calls = new Map<string, ServerToolCall>()
  /** A status is shown. */
  #isShown = false

  /** What to send for an event, before what else it sends. */
  encode(event: GenerationEvent): string {
    switch (event.type) {
      case 'approval-request':
        return this.#show(event.call) + callFrame('tool_confirm', event.call, { arguments: event.call.arguments })
      case 'server-tool-start': {
        const { call } = event
        this.#calls.set(call.id, call)
        return this.#show(call) + callFrame('tool_start', call, { arguments: call.arguments })
      }
      case 'server-tool-end': {
        const call = this.#calls.get(event.id)
        if (call === undefined) return ''
        const { text, isError, pictures = [] } = event.outcome
        const images = pictures.length > 0 && { images: pictures }
        return callFrame('tool_end', call, { result: text, ...(isError && { is_error: true }), ...images })
      }
      default:
        return this.#hide()
    }
  }

  #show(call: ServerToolCall): string {
    this.#isShown = true
    return frame({ type: 'tool_status', content: statusOf(call) })
  }

  #hide(): string {
    if (!this.#isShown) return ''
    this.#isShown = false
    return frame({ type: 'tool_status', content: '' })
  }
}

function callFrame(type: string, { id, name }: ServerToolCall, fields: object): string {
  return frame({ type, tool_name: name, tool_call_id: id, ...fields })
}

function frame(fields: object): string {
  return `data: ${toFrameJson(fields)}\n\n`
}

/** What people read while a tool runs. */
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
