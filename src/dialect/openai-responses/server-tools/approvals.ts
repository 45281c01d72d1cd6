import { AppError } from '../../../contract/errors.ts'
import type { ToolApproval } from '../../../contract/request.ts'
import { preview } from '../../wire/preview.ts'
import type { ServerItem } from './item-schema.ts'

type Placed = { readonly item: { readonly type?: unknown }; readonly path: string }
type Request = Extract<ServerItem, { type: 'mcp_approval_request' }>
type Response = Extract<ServerItem, { type: 'mcp_approval_response' }>

/** Requests to approve a call, with their answers and outcomes. */
export class Approvals {
  readonly #asked = new Set<string>()
  readonly #answers = new Map<string, Response>()
  readonly #executed = new Set<unknown>()
  /** Requests followed by nothing but their answers: the server runs their calls now. */
  readonly #open = new Set<string>()

  /** Throws for an answer without a request. */
  constructor(entries: readonly Placed[]) {
    for (const { item, path } of entries) {
      if (isResponse(item)) this.#addAnswer(item, path)
      else if (isRequest(item)) {
        this.#asked.add(item.id)
        this.#open.add(item.id)
      } else {
        this.#open.clear()
        if ('approval_request_id' in item) this.#executed.add(item.approval_request_id)
      }
    }
  }

  /** `done`: another item has the outcome. */
  stateOf({ id }: Request): 'done' | 'answered' | 'unanswered' {
    if (this.#executed.has(id)) return 'done'
    return this.#open.has(id) && this.#answers.has(id) ? 'answered' : 'unanswered'
  }

  /** The answers about calls that the server now runs, or reports to the model as refused. */
  get answers(): readonly ToolApproval[] {
    return [...this.#answers].flatMap(([id, { approve, reason }]) => {
      if (!this.#open.has(id) || this.#executed.has(id)) return []
      return [{ callId: id, isApproved: approve, ...(typeof reason === 'string' && { reason }) }]
    })
  }

  #addAnswer(item: Response, path: string): void {
    const { approval_request_id: id } = item
    if (!this.#asked.has(id)) {
      const param = `${path}.approval_request_id`
      const message = `${param} ${preview(id)} has no request: send the request before its answer, or name the response that made it`
      throw new AppError('invalid-request', message, { param })
    }
    this.#answers.set(id, item)
  }
}

function isRequest(item: Placed['item']): item is Request {
  return item.type === 'mcp_approval_request'
}

function isResponse(item: Placed['item']): item is Response {
  return item.type === 'mcp_approval_response'
}
