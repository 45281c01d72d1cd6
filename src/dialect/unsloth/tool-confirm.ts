import { z } from 'zod'
import { AppError } from '../../contract/errors.ts'
import { checkFields, type Field, indexFields, used } from '../wire/field-table.ts'
import { looseObject } from '../wire/first-fault.ts'
import { validate } from '../wire/validate.ts'
import { text } from '../wire/wire-types.ts'

const id = 'a string of 1 to 256 characters'

export const toolConfirmSchema = looseObject({
  tool_call_id: z.string({ error: id }).min(1, { error: id }).max(256, { error: id }),
  approved: z.boolean({ error: 'true or false' }),
  reason: text,
})

/** The request fields of `POST /api/inference/tool-confirm`. */
export const toolConfirmFields: readonly Field[] = [
  used('tool_call_id', 'of a frame `tool_confirm`; of the same key'),
  used('approved', 'false: the call is not made, and the model learns that'),
  used('reason', 'for the model, where the call is not approved'),
]

const index = indexFields(toolConfirmFields)

type ToolConfirm = {
  readonly callId: string
  readonly decision: { readonly isApproved: boolean; readonly reason?: string }
  readonly ignored: readonly string[]
}

/** `POST /api/inference/tool-confirm`. Throws `invalid-request` with `param`. */
export function decodeToolConfirm(body: unknown): ToolConfirm {
  const wire = validate(toolConfirmSchema, body, index)
  const { tool_call_id: callId, approved: isApproved, reason } = wire
  return {
    callId,
    decision: { isApproved, ...(typeof reason === 'string' && { reason }) },
    ignored: checkFields(index, wire),
  }
}

/** The failure where no call of the caller waits under this id. */
export function nothingWaits(callId: string): AppError {
  const message =
    `no call with tool_call_id '${callId}' waits for an approval at this server: it was decided, its request has ended, or another ` +
    'server behind the same address asked for it: the answer has to reach the server whose stream has the call'
  return new AppError('not-found', message, { param: 'tool_call_id' })
}
