import { z } from 'zod'

// What clients read of replies, and fail without: more may be there. The encoders' own schemas (dialect/*/replies.ts) demand Dragoman's
// additions as well, and would prove nothing of Dragoman.
const text = z.string()
const count = z.int().min(0)
const object = z.looseObject
const list = z.array
const empty = z.null().optional()

const usage = object({ prompt_tokens: count, completion_tokens: count, total_tokens: count })
const call = object({ id: text.min(1), function: object({ name: text.min(1), arguments: text }) })
const chatFinish = z.enum(['stop', 'length', 'tool_calls', 'content_filter', 'function_call'])
const message = object({ role: z.literal('assistant'), content: text.or(empty), tool_calls: list(call).or(empty) })
const head = { id: text.min(1), created: count, model: text.min(1) }

export const chat = object({
  ...head,
  object: z.literal('chat.completion'),
  choices: list(object({ index: count, message, finish_reason: chatFinish })).min(1),
  usage,
})
const deltaCall = object({
  index: count.optional(),
  id: text.or(empty),
  function: object({ name: text.or(empty), arguments: text.or(empty) }).or(empty),
})
export const chatChunk = object({
  ...head,
  object: z.literal('chat.completion.chunk'),
  choices: list(
    object({
      index: count,
      delta: object({ content: text.or(empty), tool_calls: list(deltaCall).or(empty) }),
      finish_reason: chatFinish.or(empty),
    }),
  ),
  usage: usage.or(empty),
})
export const completion = object({
  ...head,
  object: z.literal('text_completion'),
  choices: list(object({ index: count, text, finish_reason: z.enum(['stop', 'length', 'content_filter']) })).min(1),
  usage,
})
export const models = object({
  object: z.literal('list'),
  data: list(object({ id: text.min(1), object: z.literal('model') })).min(1),
})
export const openaiError = object({
  error: object({ message: text.min(1), type: text.or(empty), code: text.or(z.number()).or(empty) }),
})

const item = z.discriminatedUnion('type', [
  object({
    type: z.literal('message'),
    id: text,
    role: z.literal('assistant'),
    content: list(object({ type: z.enum(['output_text', 'refusal']) })),
  }),
  object({ type: z.literal('function_call'), call_id: text.min(1), name: text.min(1), arguments: text }),
  object({ type: z.literal('custom_tool_call'), call_id: text.min(1), name: text.min(1), input: text }),
  object({ type: z.literal('reasoning'), id: text }),
])
export const response = object({
  id: text.min(1),
  object: z.literal('response'),
  created_at: z.number(),
  status: z.enum(['completed', 'incomplete', 'failed', 'in_progress', 'queued', 'cancelled']),
  model: text,
  output: list(item),
  usage: object({ input_tokens: count, output_tokens: count, total_tokens: count }).or(empty),
})

const block = z.discriminatedUnion('type', [
  object({ type: z.literal('text'), text }),
  object({ type: z.literal('thinking'), thinking: text }),
  object({ type: z.literal('redacted_thinking') }),
  object({ type: z.literal('tool_use'), id: text.min(1), name: text.min(1), input: object({}) }),
])
export const messageReply = object({
  id: text.min(1),
  type: z.literal('message'),
  role: z.literal('assistant'),
  model: text,
  content: list(block),
  stop_reason: z.enum([
    'end_turn',
    'max_tokens',
    'stop_sequence',
    'tool_use',
    'pause_turn',
    'refusal',
    'model_context_window_exceeded',
  ]),
  stop_sequence: text.nullable(),
  usage: object({ input_tokens: count, output_tokens: count }),
})
export const anthropicError = object({ type: z.literal('error'), error: object({ type: text.min(1), message: text.min(1) }) })

const ollamaEnd = { done: z.literal(true), done_reason: text, prompt_eval_count: count, eval_count: count, total_duration: count }
const ollamaMessage = object({ role: z.literal('assistant'), content: text })
export const ollamaChat = object({ model: text, created_at: text, message: ollamaMessage, ...ollamaEnd })
export const ollamaPart = object({ model: text, created_at: text, message: ollamaMessage, done: z.boolean() })
export const ollamaGenerated = object({ model: text, created_at: text, response: text, ...ollamaEnd })
export const ollamaTags = object({
  models: list(object({ name: text, model: text, size: count, digest: text, details: object({}) })),
})
export const ollamaShown = object({ details: object({}), capabilities: list(text), model_info: object({}) })
export const ollamaError = object({ error: text.min(1) })

export const embeddings = object({
  object: z.literal('list'),
  data: list(object({ object: z.literal('embedding'), index: count, embedding: list(z.number()).min(1).or(text) })).min(1),
  model: text,
  usage: object({ prompt_tokens: count, total_tokens: count }),
})
export const ranking = object({ results: list(object({ index: count, relevance_score: z.number() })) })

/** Why a value does not have a form: the first fault, in words. Undefined if it has it. */
export function faultOf(form: z.ZodType, value: unknown): string | undefined {
  const { error } = form.safeParse(value)
  const issue = error?.issues[0]
  if (issue === undefined) return undefined
  const place = issue.path.join('.')
  return `${place === '' ? 'the reply' : place}: ${issue.message}`
}
