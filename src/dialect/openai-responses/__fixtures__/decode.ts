import { failureOfCall } from '../../../../test/support/failure-of.ts'
import { plainSealer as sealer } from '../../../../test/support/plain-sealer.ts'
import type { AppError } from '../../../contract/errors.ts'
import type { Message, Prompt } from '../../../contract/request.ts'
import type { StoredItem } from '../../../contract/store.ts'
import { type DecodedResponse, decodeResponse } from '../decode.ts'

type Known = {
  readonly history?: readonly StoredItem[]
  readonly items?: readonly StoredItem[]
  /** The tools of the server. */
  readonly serverTools?: ReadonlySet<string>
}

/** Decodes a request with these fields. */
export function decode(fields: object, { history = [], items = [], serverTools }: Known = {}): DecodedResponse {
  const context = { id: 'resp_1', createdAtMs: 1_700_000_000_000, sealer, history, items, serverTools }
  return decodeResponse({ model: 'm', input: 'hi', ...fields }, context)
}

export function promptOf({ request: { prompt } }: DecodedResponse): Extract<Prompt, { type: 'chat' }> {
  if (prompt.type !== 'chat') throw new Error('expected a chat')
  return prompt
}

/** The conversation of a request with these fields. */
export function messagesOf(fields: object, known?: Known): readonly Message[] {
  return promptOf(decode(fields, known)).messages
}

/** The failure of a request with these fields. */
export function failureOf(fields: object, known?: Known): AppError {
  return failureOfCall(() => decode(fields, known))
}

/** An item of a history. */
export function stored(json: { readonly id: string; readonly [field: string]: unknown }): StoredItem {
  return { id: json.id, json }
}

export function said(id: string, role: 'user' | 'assistant', text: string): StoredItem {
  const type = role === 'user' ? 'input_text' : 'output_text'
  return stored({ id, type: 'message', status: 'completed', role, content: [{ type, text, annotations: [] }] })
}
