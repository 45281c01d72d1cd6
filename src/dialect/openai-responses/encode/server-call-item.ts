import type { ServerToolCall } from '../../../contract/event.ts'
import type { JsonObject } from '../../../contract/request.ts'
import type { ToolOutcome } from '../../../contract/server-tool.ts'
import { picturePath } from '../../wire/picture-path.ts'
import { createIdFor } from '../item-id.ts'
import type { ResponseItem } from '../replies.ts'
import type { Emitter, OutputItem } from './output-item.ts'
import { beginningOfServerItem, beginServerItem, endServerItem } from './server-events.ts'

type Style = {
  /** The folder of programs, by the name that callers use. */
  readonly container: string
  /** Calls that this request approved or refused. */
  readonly answered: ReadonlySet<string>
}

/** A call of a tool that the server runs, from its start to its result. */
export class ServerCallItem implements OutputItem {
  readonly id: string
  readonly #emitter: Emitter
  readonly #call: ServerToolCall
  readonly #style: Style
  #status: 'in_progress' | 'completed' | 'incomplete' | 'failed' = 'in_progress'
  #outcome: ToolOutcome | undefined

  constructor(emitter: Emitter, call: ServerToolCall, style: Style) {
    this.id = createIdFor(typeOf(call))
    this.#emitter = emitter
    this.#call = call
    this.#style = style
    const item = this.toJson()
    emitter.send('response.output_item.added', { output_index: emitter.outputIndex, item: beginningOfServerItem(item) })
    for (const [type, fields] of beginServerItem(item)) this.#send(type, fields)
  }

  finish(outcome: ToolOutcome): void {
    this.#outcome = outcome
    // A program that ran has a result, also where it failed.
    const hasRun = !outcome.isError || (typeOf(this.#call) === 'code_interpreter_call' && outcome.exitCode !== undefined)
    this.#end(hasRun ? 'completed' : 'failed')
  }

  /** Ends a call without a result: the response ended meanwhile. */
  close(): void {
    if (this.#status !== 'in_progress') return
    // The protocol has no other word for a search that was not finished.
    this.#end(typeOf(this.#call) === 'web_search_call' ? 'failed' : 'incomplete')
  }

  toJson(): ResponseItem {
    const { id } = this
    const status = this.#status
    const outcome = this.#outcome
    const { mcp, name, id: callId, arguments: given } = this.#call
    const type = typeOf(this.#call)
    switch (type) {
      case 'web_search_call':
        // An extension: what the model read, so that it reads it again when the item comes back.
        return { id, type, status, action: encodeAction(given, outcome), ...(outcome !== undefined && { result: outcome.text }) }
      case 'code_interpreter_call': {
        const { container } = this.#style
        const outputs = outcome === undefined ? [] : encodeOutputs(outcome, container)
        return { id, type, status, code: codeOf(given), container_id: container, outputs }
      }
      case 'mcp_call': {
        const approval = { approval_request_id: this.#style.answered.has(callId) ? callId : null }
        const called = { server_label: mcp?.server ?? '', name: mcp?.name ?? name, arguments: JSON.stringify(given) }
        return { id, type, status, ...approval, ...called, ...encodeOutput(outcome) }
      }
    }
  }

  #end(status: 'completed' | 'incomplete' | 'failed'): void {
    this.#status = status
    const item = this.toJson()
    for (const [type, fields] of endServerItem(item)) this.#send(type, fields)
    const { send, outputIndex } = this.#emitter
    send('response.output_item.done', { output_index: outputIndex, item })
  }

  #send(type: string, fields: JsonObject = {}): void {
    const { send, outputIndex } = this.#emitter
    send(type, { item_id: this.id, output_index: outputIndex, ...fields })
  }
}

function typeOf({ kind }: ServerToolCall) {
  switch (kind) {
    case 'web-search':
      return 'web_search_call'
    case 'python':
    case 'terminal':
      return 'code_interpreter_call'
    case 'mcp':
      return 'mcp_call'
  }
}

function encodeAction({ query, url }: JsonObject, outcome: ToolOutcome | undefined): JsonObject {
  if (typeof url === 'string') return { type: 'open_page', url }
  const words = typeof query === 'string' ? query : ''
  const sources = (outcome?.sources ?? []).map((source) => ({ type: 'url', url: source.url }))
  return { type: 'search', query: words, queries: [words], sources }
}

function codeOf({ code, command }: JsonObject): string {
  const given = code ?? command
  return typeof given === 'string' ? given : ''
}

function encodeOutputs({ text, pictures = [] }: ToolOutcome, container: string): readonly JsonObject[] {
  return [{ type: 'logs', logs: text }, ...pictures.map((name) => ({ type: 'image', url: picturePath(container, name) }))]
}

function encodeOutput(outcome: ToolOutcome | undefined): JsonObject {
  if (outcome === undefined) return { output: null, error: null }
  const { text, isError } = outcome
  if (!isError) return { output: text, error: null }
  return { output: null, error: { type: 'mcp_tool_execution_error', content: [{ type: 'text', text }] } }
}
