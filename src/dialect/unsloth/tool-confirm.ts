import { z } from 'zod'
import { AppError } from '../../contract/errors.ts'
import { type Field, informational, used } from '../wire/field-table.ts'
import { looseObject } from '../wire/first-fault.ts'
import { bodyReader } from '../wire/validate.ts'
import { flag, text } from '../wire/wire-types.ts'

const words = 'a string of 1 to 256 characters'
const id = z.string({ error: words }).min(1, { error: words }).max(256, { error: words }).nullish()

export const toolConfirmSchema = looseObject({
  tool_call_id: id,
  approved: flag,
  reason: text,
  approval_id: id,
  decision: z.enum(['allow', 'deny'], { error: '"allow" or "deny"' }).nullish(),
  session_id: text,
})

/** The request fields of `POST /api/inference/tool-confirm`. */
export const toolConfirmFields: readonly Field[] = [
  used('tool_call_id', 'of a frame `tool_confirm`; of the same key'),
  used('approved', 'false: the call is not made, and the model learns that'),
  used('reason', 'for the model, where the call is not approved'),
  used('approval_id', "of a frame `tool_start`: what Unsloth Studio's page sends instead of `tool_call_id`"),
  used('decision', '`allow` or `deny`, instead of `approved`; absent beside `approval_id`: `deny`'),
  informational('session_id', 'an approval is of one call of the same key, in any session'),
]

const readBody = bodyReader(toolConfirmSchema, toolConfirmFields)

type ToolConfirm = {
  readonly callId: string
  readonly decision: { readonly isApproved: boolean; readonly reason?: string }
  /** The reply to the client, once the call is decided. */
  readonly reply: object
  /** The field that identified the call. */
  readonly param: string
  readonly ignored: readonly string[]
}

/** `POST /api/inference/tool-confirm`, in Dragoman's words or those of Unsloth Studio's page. Throws `invalid-request` with `param`. */
export function decodeToolConfirm(body: unknown): ToolConfirm {
  const { wire, ignored } = readBody(body)
  const { tool_call_id, approval_id, approved, decision: word, reason } = wire
  const isPages = typeof approval_id === 'string'
  const callId = approval_id ?? tool_call_id ?? missing('tool_call_id', 'the id of a call that waits')
  const isApproved = word === undefined || word === null ? (approved ?? (isPages ? false : undefined)) : word === 'allow'
  if (typeof isApproved !== 'boolean') return missing('approved', 'true or false')
  return {
    callId,
    decision: { isApproved, ...(typeof reason === 'string' && { reason }) },
    reply: isPages ? { resolved: true } : { tool_call_id: callId, approved: isApproved },
    param: isPages ? 'approval_id' : 'tool_call_id',
    ignored,
  }
}

function missing(param: string, expected: string): never {
  throw new AppError('invalid-request', `${param} is missing: expected ${expected}`, { param })
}

/** The failure if no call of the caller waits under this id. */
export function nothingWaits({ callId, param }: Pick<ToolConfirm, 'callId' | 'param'>): AppError {
  const message =
    `no call with ${param} '${callId}' waits for an approval at this server: it was decided, its request has ended, or another ` +
    'server behind the same address asked for it: the answer has to reach the server whose stream has the call'
  return new AppError('not-found', message, { param })
}
