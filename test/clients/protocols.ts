import { z } from 'zod'
import { createWireCheck } from '../support/wire-schema.ts'
import { fieldsOf, type Recording, routeOf } from './recording.ts'

/** What a client reads of the replies of a route, and throws for. */
type Reading = {
  /** As docs/reference/clients.md names it. */
  readonly protocol: string
  readonly route: RegExp
  /** Absent: a client reads the status alone. */
  readonly readWhole?: (reply: unknown) => void
  readonly stream?: {
    readonly framing: 'sse' | 'ndjson'
    /** Ollama streams unless it is asked not to. */
    readonly isDefault?: true
    readonly readPart: (part: unknown) => void
    /** Whether a part is the last one of a complete stream. */
    readonly isLast: (part: Readonly<Record<string, unknown>>) => boolean
  }
}

/** A check of replies with OpenAI's and Anthropic's own types, which our additions may extend. */
function typed(name: string, definition?: string): (value: unknown) => void {
  let check: ((value: unknown) => void) | undefined
  return (value) => {
    check ??= createWireCheck(name, { isOpen: true, ...(definition !== undefined && { definition }) })
    check(value)
  }
}

const read = (schema: z.ZodType) => (value: unknown) => void schema.parse(value)
const text = z.string()
const count = z.int().min(0)
const date = z.iso.datetime({ offset: true })
const vector = z.array(z.number()).min(1)
const isDoneSign = (part: unknown) => part === '[DONE]'
const named = z.looseObject({ name: text, model: text, size: count, digest: text, details: z.looseObject({ family: text }) })

/** The counts come with the end, and its clients compute speeds from them. */
const ends = z.looseObject({
  done_reason: text,
  prompt_eval_count: count,
  eval_count: count,
  eval_duration: count,
  total_duration: count,
})
const loads = z.looseObject({ done_reason: z.enum(['load', 'unload']) })
const calls = z.array(z.looseObject({ function: z.looseObject({ name: text, arguments: z.record(text, z.unknown()) }) }))
const message = z.looseObject({
  role: z.literal('assistant'),
  content: text,
  thinking: text.optional(),
  tool_calls: calls.optional(),
})
const ollamaPart = (own: z.core.$ZodLooseShape) => {
  const head = { model: text, created_at: date, ...own }
  const part = z.looseObject({ ...head, done: z.literal(false) })
  const last = z.looseObject({ ...head, done: z.literal(true) })
  return { part: part.or(last.and(ends.or(loads))), whole: last.and(ends.or(loads)) }
}
const ollamaStream = (schema: z.ZodType) =>
  ({
    framing: 'ndjson',
    isDefault: true,
    readPart: read(schema),
    isLast: ({ done }: { done?: unknown }) => done === true,
  }) as const
const chatReply = ollamaPart({ message })
const generateReply = ollamaPart({ response: text })
const status = z.looseObject({ status: text })

const completion = z.looseObject({ content: text, stop: z.boolean() })
const completionStream = {
  framing: 'sse',
  readPart: read(completion),
  isLast: ({ stop }: { stop?: unknown }) => stop === true,
} as const
const listed = z.looseObject({ data: z.array(z.looseObject({ id: text })) })

/** Without a prompt it loads a model, and answers in one piece. */
const generateRoute = /^\/api\/generate$/

const openai = 'OpenAI'
const ollama = 'Ollama'
const llamaServer = 'llama-server'
const kobold = 'KoboldAI'
const tabby = 'tabbyAPI'
const lmStudio = 'LM Studio'
const lmStudioAnswer = z.looseObject({
  model_instance_id: text,
  output: z.array(z.looseObject({ type: text })),
  stats: z.looseObject({ input_tokens: count, total_output_tokens: count }),
})

/** The first that matches counts. */
const readings: readonly Reading[] = [
  {
    protocol: `${openai} Chat Completions`,
    route: /^(\/v1|\/api\/v0)?\/chat\/completions$/,
    readWhole: typed('OpenAIChatCompletion'),
    stream: { framing: 'sse', readPart: typed('OpenAIChatCompletionChunk'), isLast: isDoneSign },
  },
  {
    protocol: `${openai} Completions`,
    route: /^(\/v1)?\/completions$/,
    readWhole: typed('OpenAICompletion'),
    stream: { framing: 'sse', readPart: typed('OpenAICompletion'), isLast: isDoneSign },
  },
  {
    protocol: `${openai} Responses`,
    route: /^(\/v1)?\/responses$/,
    readWhole: typed('OpenAIResponseStreamEvent', 'Response'),
    stream: {
      framing: 'sse',
      readPart: typed('OpenAIResponseStreamEvent'),
      isLast: ({ type }) => type === 'response.completed' || type === 'response.incomplete',
    },
  },
  {
    protocol: `${openai} Embeddings`,
    route: /^(\/v1)?\/embeddings$/,
    // OpenAI's own libraries ask for base64.
    readWhole: read(z.looseObject({ data: z.array(z.looseObject({ index: count, embedding: vector.or(z.base64()) })).min(1) })),
  },
  {
    protocol: 'Anthropic Messages',
    route: /^\/v1\/messages$/,
    readWhole: typed('AnthropicMessage'),
    stream: { framing: 'sse', readPart: typed('AnthropicStreamEvent'), isLast: ({ type }) => type === 'message_stop' },
  },
  { protocol: 'Anthropic Messages', route: /^\/v1\/messages\/count_tokens$/, readWhole: typed('AnthropicCountTokens') },
  { protocol: ollama, route: /^\/api\/chat$/, readWhole: read(chatReply.whole), stream: ollamaStream(chatReply.part) },
  {
    protocol: ollama,
    route: generateRoute,
    readWhole: read(generateReply.whole),
    stream: ollamaStream(generateReply.part),
  },
  { protocol: ollama, route: /^\/api\/embed$/, readWhole: read(z.looseObject({ embeddings: z.array(vector).min(1) })) },
  { protocol: ollama, route: /^\/api\/embeddings$/, readWhole: read(z.looseObject({ embedding: vector })) },
  {
    protocol: ollama,
    route: /^\/api\/tags$/,
    readWhole: read(z.looseObject({ models: z.array(named.extend({ modified_at: date })) })),
  },
  {
    protocol: ollama,
    route: /^\/api\/ps$/,
    readWhole: read(z.looseObject({ models: z.array(named.extend({ expires_at: date })) })),
  },
  {
    protocol: ollama,
    route: /^\/api\/show$/,
    readWhole: read(z.looseObject({ details: z.looseObject({}), model_info: z.looseObject({}), capabilities: z.array(text) })),
  },
  { protocol: ollama, route: /^\/api\/version$/, readWhole: read(z.looseObject({ version: text.regex(/^\d+\.\d+\.\d+$/) })) },
  {
    protocol: ollama,
    route: /^\/api\/(pull|push|create)$/,
    readWhole: read(status.extend({ status: z.literal('success') })),
    stream: { framing: 'ndjson', isDefault: true, readPart: read(status), isLast: (part) => part.status === 'success' },
  },
  { protocol: ollama, route: /^\/api\/(copy|delete)$/ },
  { protocol: llamaServer, route: /^\/(completion|infill)$/, readWhole: read(completion), stream: completionStream },
  {
    protocol: llamaServer,
    route: /^\/embeddings?$/,
    readWhole: read(z.array(z.looseObject({ index: count, embedding: z.array(vector) }))),
  },
  { protocol: llamaServer, route: /^\/tokenize$/, readWhole: read(z.looseObject({ tokens: z.array(z.unknown()) })) },
  { protocol: 'vLLM', route: /^\/v1\/tokenize$/, readWhole: read(z.looseObject({ count, tokens: z.array(count) })) },
  {
    protocol: llamaServer,
    route: /^\/slots$/,
    readWhole: read(z.array(z.looseObject({ id: count, is_processing: z.boolean() }))),
  },
  {
    protocol: llamaServer,
    route: /^\/models$/,
    // Its page fails for a row without a status.
    readWhole: read(z.looseObject({ data: z.array(z.looseObject({ id: text, status: z.looseObject({ value: text }) })).min(1) })),
  },
  {
    protocol: llamaServer,
    route: /^\/props$/,
    readWhole: read(
      z.looseObject({ build_info: text, default_generation_settings: z.looseObject({ params: z.record(text, z.unknown()) }) }),
    ),
  },
  { protocol: llamaServer, route: /^\/v1\/streams\/lookup$/, readWhole: read(z.array(z.looseObject({ conversation_id: text }))) },
  { protocol: llamaServer, route: /\/completions\/control$/, readWhole: read(z.looseObject({ success: z.boolean() })) },
  { protocol: llamaServer, route: /^\/models\/load$/, readWhole: read(z.looseObject({ success: z.literal(true) })) },
  { protocol: llamaServer, route: /\/input_tokens$/, readWhole: read(z.looseObject({ input_tokens: count })) },
  {
    protocol: kobold,
    route: /^\/api\/(v1|latest)\/generate$/,
    readWhole: read(z.looseObject({ results: z.array(z.looseObject({ text })).min(1) })),
  },
  {
    protocol: kobold,
    route: /^\/api\/extra\/generate\/stream$/,
    stream: {
      framing: 'sse',
      isDefault: true,
      readPart: read(z.looseObject({ token: text })),
      isLast: ({ finish_reason }) => typeof finish_reason === 'string',
    },
  },
  { protocol: kobold, route: /^\/api\/extra\/tokencount$/, readWhole: read(z.looseObject({ value: count })) },
  {
    protocol: kobold,
    route: /^\/api\/extra\/generate\/check$/,
    readWhole: read(z.looseObject({ results: z.array(z.looseObject({ text })).min(1) })),
  },
  { protocol: kobold, route: /^\/api\/extra\/last_logprobs$/, readWhole: read(z.looseObject({ logprobs: z.unknown() })) },
  { protocol: kobold, route: /^\/api\/extra\/abort$/, readWhole: read(z.looseObject({ success: z.boolean() })) },
  { protocol: lmStudio, route: /^\/api\/v0\/models$/, readWhole: read(listed) },
  {
    protocol: lmStudio,
    route: /^\/api\/v1\/models$/,
    readWhole: read(
      z.looseObject({ models: z.array(z.looseObject({ key: text, loaded_instances: z.array(z.looseObject({ id: text })) })) }),
    ),
  },
  {
    protocol: lmStudio,
    route: /^\/api\/v1\/models\/load$/,
    readWhole: read(z.looseObject({ instance_id: text, status: z.literal('loaded'), load_time_seconds: z.number() })),
  },
  { protocol: lmStudio, route: /^\/api\/v1\/models\/download$/, readWhole: read(z.looseObject({ status: text })) },
  { protocol: lmStudio, route: /^\/api\/v1\/models\/unload$/, readWhole: read(z.looseObject({ instance_id: text })) },
  {
    protocol: lmStudio,
    route: /^\/api\/v1\/chat$/,
    readWhole: read(lmStudioAnswer),
    stream: { framing: 'sse', readPart: read(z.looseObject({ type: text })), isLast: ({ type }) => type === 'chat.end' },
  },
  { protocol: kobold, route: /^\/api\/(v1|latest|extra)\//, readWhole: read(z.looseObject({ result: text })) },
  {
    protocol: 'text-generation-webui',
    route: /^\/v1\/internal\/model\/info$/,
    readWhole: read(z.looseObject({ model_name: text })),
  },
  {
    protocol: tabby,
    route: /^\/v1\/model\/load$/,
    readWhole: () => undefined,
    // Its loaders wait for the end of the model, and parse every part.
    stream: {
      framing: 'sse',
      isDefault: true,
      readPart: read(z.looseObject({ module: count, modules: count, status: z.enum(['processing', 'finished']) })),
      isLast: ({ model_type, status }) => model_type === 'model' && status === 'finished',
    },
  },
  { protocol: tabby, route: /^\/v1\/model\/unload$/, readWhole: read(z.strictObject({})) },
  { protocol: tabby, route: /^\/v1\/auth\/permission$/, readWhole: read(z.looseObject({ permission: z.literal('admin') })) },
  { protocol: tabby, route: /^\/v1\/template\/list$/, readWhole: read(z.looseObject({ data: z.array(text) })) },
  { protocol: tabby, route: /^\/v1\/(model\/draft|lora)\/list$/, readWhole: read(listed) },
  {
    protocol: 'text-generation-webui',
    route: /^\/v1\/internal\/encode$/,
    readWhole: read(z.looseObject({ tokens: z.array(count), length: count })),
  },
  { protocol: tabby, route: /^\/v1\/model$/, readWhole: read(z.looseObject({ id: text })) },
  { protocol: tabby, route: /^\/v1\/token\/encode$/, readWhole: read(z.looseObject({ tokens: z.array(count), length: count })) },
  { protocol: 'Open WebUI', route: /^\/v1\/audio\/models$/, readWhole: read(z.looseObject({ models: z.array(z.unknown()) })) },
  { protocol: 'Open WebUI', route: /^\/v1\/audio\/voices$/, readWhole: read(z.looseObject({ voices: z.array(z.unknown()) })) },
  { protocol: 'lists of models', route: /^(\/v1)?(\/model\/list|\/models)$/, readWhole: read(listed) },
  { protocol: 'lists of models', route: /^(\/v1)?\/models\//, readWhole: read(z.looseObject({ id: text })) },
]

/** How the client of a recording reads its reply; undefined for a route that is not known here. */
export function readingOf(recording: Recording): Reading | undefined {
  const route = routeOf(recording)
  return readings.find((reading) => reading.route.test(route))
}

/** What kind of stream the client waits for; undefined: one JSON value. */
export function streamOf({ stream, route }: Reading, { body }: Recording): Reading['stream'] {
  const fields = fieldsOf(body)
  if (stream === undefined || (route === generateRoute && !fields.prompt)) return undefined
  return (fields.stream ?? stream.isDefault === true) ? stream : undefined
}
