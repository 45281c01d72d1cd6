import type { EventOf } from '../../../contract/event.ts'
import type { JsonObject } from '../../../contract/request.ts'
import { createItemId } from '../item-id.ts'
import type { ToolName } from '../namespaces.ts'
import type { ResponseItem } from '../replies.ts'
import type { Emitter, OutputItem } from './output-item.ts'

type Kind = 'function' | 'custom' | 'search'

const prefixes = { function: 'fc', custom: 'ctc', search: 'tsc' } as const
/** The protocol has no events for what a search asks for. */
const deltas: Partial<Record<Kind, string>> = {
  function: 'response.function_call_arguments.delta',
  custom: 'response.custom_tool_call_input.delta',
}

/** A call of a function, of a custom tool or of the client's search for tools. */
export class CallItem implements OutputItem {
  readonly id: string
  readonly #emitter: Emitter
  readonly #callId: string
  readonly #tool: ToolName
  readonly #kind: Kind
  #input = ''
  #status: 'in_progress' | 'completed' | 'incomplete' = 'in_progress'

  /** `tool`: what the client calls the tool. */
  constructor(emitter: Emitter, { id, kind }: EventOf<'tool-call-start'>, tool: ToolName) {
    this.#kind = tool.isSearch === true ? 'search' : (kind ?? 'function')
    this.id = createItemId(prefixes[this.#kind])
    this.#emitter = emitter
    this.#callId = id
    this.#tool = tool
    emitter.send('response.output_item.added', { output_index: emitter.outputIndex, item: this.toJson() })
  }

  add(delta: string): void {
    if (delta === '') return
    this.#input += delta
    const type = deltas[this.#kind]
    if (type !== undefined) this.#send(type, { delta })
  }

  close(status: 'completed' | 'incomplete'): void {
    const input = this.#input
    if (this.#kind === 'custom') this.#send('response.custom_tool_call_input.done', { input })
    if (this.#kind === 'function') {
      this.#send('response.function_call_arguments.done', { name: this.#tool.name, arguments: input })
    }
    this.#status = status
    const { send, outputIndex } = this.#emitter
    send('response.output_item.done', { output_index: outputIndex, item: this.toJson() })
  }

  toJson(): ResponseItem {
    const { id } = this
    const { name, namespace } = this.#tool
    const named = { call_id: this.#callId, name, ...(namespace !== undefined && { namespace }) }
    switch (this.#kind) {
      case 'function':
        return { id, type: 'function_call', status: this.#status, ...named, arguments: this.#input }
      case 'custom':
        return { id, type: 'custom_tool_call', ...named, input: this.#input }
      case 'search': {
        const search = { call_id: this.#callId, execution: 'client', arguments: readArguments(this.#input) }
        return { id, type: 'tool_search_call', status: this.#status, ...search }
      }
    }
  }

  #send(type: string, fields: JsonObject): void {
    const { send, outputIndex } = this.#emitter
    send(type, { item_id: this.id, output_index: outputIndex, ...fields })
  }
}

/** Any JSON; what is not complete, or no JSON, stays a text. */
function readArguments(input: string): unknown {
  try {
    return JSON.parse(input === '' ? '{}' : input)
  } catch {
    return input
  }
}
