import type { GenerationEvent } from '../../contract/event.ts'
import type { JsonObject } from '../../contract/request.ts'
import { createItemId } from './item-id.ts'
import type { ToolName } from './namespaces.ts'
import type { OutputItem, Place } from './output-item.ts'

type Start = Extract<GenerationEvent, { type: 'tool-call-start' }>

/** A call of a function or of a custom tool. */
export class CallItem implements OutputItem {
  readonly id: string
  readonly #place: Place
  readonly #callId: string
  readonly #tool: ToolName
  readonly #isCustom: boolean
  #input = ''
  #status: 'in_progress' | 'completed' | 'incomplete' = 'in_progress'

  /** `tool`: what the client calls the tool. */
  constructor(place: Place, { id, kind }: Start, tool: ToolName) {
    this.#isCustom = kind === 'custom'
    this.id = createItemId(this.#isCustom ? 'ctc' : 'fc')
    this.#place = place
    this.#callId = id
    this.#tool = tool
    place.send('response.output_item.added', { output_index: place.outputIndex, item: this.toJson() })
  }

  add(delta: string): void {
    if (delta === '') return
    this.#input += delta
    this.#send(this.#isCustom ? 'response.custom_tool_call_input.delta' : 'response.function_call_arguments.delta', { delta })
  }

  close(status: 'completed' | 'incomplete'): void {
    const input = this.#input
    if (this.#isCustom) this.#send('response.custom_tool_call_input.done', { input })
    else this.#send('response.function_call_arguments.done', { name: this.#tool.name, arguments: input })
    this.#status = status
    const { send, outputIndex } = this.#place
    send('response.output_item.done', { output_index: outputIndex, item: this.toJson() })
  }

  toJson(): JsonObject {
    const { name, namespace } = this.#tool
    const named = { call_id: this.#callId, name, ...(namespace !== undefined && { namespace }) }
    if (this.#isCustom) return { id: this.id, type: 'custom_tool_call', ...named, input: this.#input }
    return { id: this.id, type: 'function_call', status: this.#status, ...named, arguments: this.#input }
  }

  #send(type: string, fields: JsonObject): void {
    const { send, outputIndex } = this.#place
    send(type, { item_id: this.id, output_index: outputIndex, ...fields })
  }
}
