import { z } from 'zod'

/** llama-stack's replies, as the types of llama-stack-client 0.2.23 describe them; nothing else may be in them. */

const stopReason = z.enum(['end_of_turn', 'end_of_message', 'out_of_tokens'])
const metrics = z.array(z.strictObject({ metric: z.string(), value: z.number(), unit: z.string().optional() })).optional()
const logprobs = z.array(z.strictObject({ logprobs_by_token: z.record(z.string(), z.number()) })).optional()
const toolCall = z.strictObject({
  call_id: z.string(),
  tool_name: z.string(),
  arguments: z.union([z.string(), z.record(z.string(), z.unknown())]),
  arguments_json: z.string().optional(),
})
const delta = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: z.string() }),
  z.strictObject({
    type: z.literal('tool_call'),
    tool_call: z.union([z.string(), toolCall]),
    parse_status: z.enum(['started', 'in_progress', 'failed', 'succeeded']),
  }),
])

const detail = z.union([
  z.string(),
  z.strictObject({
    errors: z.array(z.strictObject({ loc: z.array(z.union([z.string(), z.number()])), msg: z.string(), type: z.string() })),
  }),
])

const schemas = {
  chatReply: z.strictObject({
    completion_message: z.strictObject({
      role: z.literal('assistant'),
      content: z.string(),
      stop_reason: stopReason,
      tool_calls: z.array(toolCall),
    }),
    logprobs,
    metrics,
  }),
  chatEvent: z.strictObject({
    event: z.strictObject({
      event_type: z.enum(['start', 'progress', 'complete']),
      delta,
      logprobs,
      stop_reason: stopReason.optional(),
    }),
    metrics,
  }),
  error: z.strictObject({ error: z.strictObject({ detail, message: z.string().optional() }) }),
}

/** A check that throws for what the types do not allow. */
export function stackCheck(name: keyof typeof schemas): (value: unknown) => void {
  return (value) => {
    schemas[name].parse(value)
  }
}
