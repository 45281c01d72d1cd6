import { anyObject, anything, either, flag, is, list, named, number, numbers, object, oneOf, text, texts } from './shapes.ts'

const tokens = { cached_tokens: number }
export const usage = named(
  'Usage',
  object({
    prompt_tokens: number,
    completion_tokens: number,
    total_tokens: number,
    prompt_tokens_details: object(tokens),
    completion_tokens_details: object({ reasoning_tokens: number }),
    // With `server.usageTimes`.
    prompt_time: number.optional(),
    prompt_tokens_per_sec: number.optional(),
    completion_time: number.optional(),
    completion_tokens_per_sec: number.optional(),
    total_time: number.optional(),
    extra: anyObject.optional(),
  }),
)
/** What a generation has taken, as llama-server says it. */
export const timings = named(
  'Timings',
  object({
    cache_n: number,
    prompt_n: number,
    prompt_ms: number,
    prompt_per_token_ms: number,
    prompt_per_second: number,
    predicted_n: number,
    predicted_ms: number,
    predicted_per_token_ms: number,
    predicted_per_second: number,
  }),
)
/** How far a prompt is read. */
export const promptProgress = named(
  'PromptProgress',
  object({ total: number, cache: number, processed: number, time_ms: number }),
)
const promptUsage = object({ prompt_tokens: number, total_tokens: number })

const logprob = { token: text, token_id: number.optional(), logprob: number, bytes: numbers.nullable() }
const logprobs = named(
  'ChatLogprobs',
  object({
    content: list(object({ ...logprob, top_logprobs: list(object(logprob)) })).nullable(),
    refusal: list(anything).nullable(),
  }),
)
const call = { id: text, type: oneOf(['function', 'custom']) }
const calledFunction = { name: text, arguments: text }
const calledCustom = { name: text, input: text }
const said = {
  content: text.nullable(),
  refusal: text.nullable(),
  reasoning_content: text.nullable().optional(),
  reasoning: text.nullable().optional(),
  annotations: list(object({ type: is('url_citation'), url_citation: anyObject })).optional(),
}
const message = named(
  'ChatMessage',
  object({
    role: is('assistant'),
    ...said,
    tool_calls: list(
      object({ ...call, function: object(calledFunction).optional(), custom: object(calledCustom).optional() }),
    ).optional(),
    function_call: object(calledFunction).optional(),
  }),
)
const finishReason = oneOf(['stop', 'length', 'tool_calls', 'content_filter', 'function_call'])
const head = { id: text, created: number, model: text, system_fingerprint: text }

const chatShape = {
  ...head,
  object: is('chat.completion'),
  choices: list(
    object({ index: number, message, logprobs: logprobs.nullable(), finish_reason: finishReason, stop_reason: text.optional() }),
  ),
  usage,
  timings,
}
export const chatCompletion = named('ChatCompletion', object(chatShape))
const page = { first_id: text, last_id: text, has_more: flag }
export const storedChat = named(
  'StoredChatCompletion',
  object({
    ...chatShape,
    request_id: text.nullable(),
    tools: list(anyObject).nullable(),
    tool_choice: anything,
    response_format: anyObject.nullable(),
    seed: number.nullable(),
    temperature: number.nullable(),
    top_p: number.nullable(),
    presence_penalty: number.nullable(),
    frequency_penalty: number.nullable(),
    service_tier: text.nullable(),
    input_user: text.nullable(),
    metadata: anyObject,
    input_messages: list(anyObject),
  }),
)
export const storedChats = object({ object: is('list'), data: list(storedChat), ...page })
export const storedMessages = object({ object: is('list'), data: list(anyObject), ...page })
export const deletedChat = object({ id: text, object: is('chat.completion.deleted'), deleted: is(true) })
export const chatChunk = named(
  'ChatCompletionChunk',
  object({
    ...head,
    object: is('chat.completion.chunk'),
    choices: list(
      object({
        index: number,
        delta: object({
          role: is('assistant').optional(),
          ...said,
          content: text.optional(),
          refusal: text.optional(),
          tool_calls: list(
            object({
              index: number,
              id: text.optional(),
              type: call.type.optional(),
              function: object(calledFunction).partial().optional(),
              custom: object(calledCustom).partial().optional(),
            }),
          ).optional(),
          function_call: object(calledFunction).partial().optional(),
        }),
        logprobs: logprobs.nullable(),
        finish_reason: finishReason.nullable(),
        stop_reason: text.optional(),
      }),
    ),
    usage: usage.nullable().optional(),
    timings: timings.optional(),
    prompt_progress: promptProgress.optional(),
  }),
)

const completionLogprobs = object({
  tokens: texts,
  token_logprobs: list(number.nullable()),
  top_logprobs: list(anyObject.nullable()),
  text_offset: numbers,
})
const completionChoice = { index: number, text, logprobs: completionLogprobs.nullable() }
const completionEnd = oneOf(['stop', 'length', 'content_filter'])
export const completion = named(
  'Completion',
  object({
    ...head,
    object: is('text_completion'),
    choices: list(object({ ...completionChoice, finish_reason: completionEnd })),
    usage,
    timings,
  }),
)
export const completionChunk = named(
  'CompletionChunk',
  object({
    ...head,
    object: is('text_completion'),
    choices: list(object({ ...completionChoice, finish_reason: completionEnd.nullable() })),
    usage: usage.nullable().optional(),
    timings: timings.optional(),
    prompt_progress: promptProgress.optional(),
  }),
)

export const embeddings = named(
  'Embeddings',
  object({
    object: is('list'),
    data: list(object({ object: is('embedding'), index: number, embedding: either([numbers, text]) })),
    model: text,
    usage: promptUsage,
  }),
)
const responseUsage = object({
  input_tokens: number,
  input_tokens_details: object({ cached_tokens: number, cache_write_tokens: number }),
  output_tokens: number,
  output_tokens_details: object({ reasoning_tokens: number }),
  total_tokens: number,
})
const answerName = text.nullable()
const choiceValue = either([text, flag])
export const decisions = named(
  'Decisions',
  object({
    answers: list(
      either([
        object({ type: is('predicate'), name: answerName, probability: number }),
        object({
          type: is('choice'),
          name: answerName,
          choice: choiceValue,
          confidence: number,
          probabilities: list(object({ value: choiceValue, probability: number })),
        }),
        object({
          type: is('score'),
          name: answerName,
          score: number,
          confidence: number,
          probabilities: list(object({ label: text, value: number, probability: number })),
        }),
        object({ type: is('refusal'), name: answerName }),
      ]),
    ),
    model: text,
    usage: responseUsage,
  }),
)
/** For questions in tabbyAPI's form. */
export const tabbyDecisions = named(
  'TabbyDecisions',
  object({
    object: is('decisions'),
    model: text,
    prompt_format_version: number,
    answers: anyObject,
    usage: object({ prompt_tokens: number, completion_tokens: number }),
  }),
)
export const ranking = named(
  'Ranking',
  object({
    object: is('list'),
    model: text,
    results: list(object({ index: number, relevance_score: number, document: object({ text }).optional() })),
    usage: promptUsage,
  }),
)
export const scores = object({
  id: text,
  object: is('score.evaluation'),
  model: text,
  scores: numbers,
  method: text,
  scored_tokens: numbers.optional(),
  truncated: list(flag),
  usage: promptUsage,
})

const modelShape = {
  id: text,
  object: is('model'),
  created: number,
  owned_by: text,
  context_length: number.optional(),
  max_context_length: number.optional(),
  native_context_length: number.optional(),
  quant: text.optional(),
  kind: oneOf(['chat', 'embeddings', 'rerank', 'other']).optional(),
  state: text,
  loaded: flag,
  aliases: texts,
}
export const model = named('Model', object(modelShape))
export const modelList = named('ModelList', object({ object: is('list'), data: list(model) }))
export const modelDetail = named(
  'ModelDetail',
  object({ ...modelShape, servers: list(anyObject).optional(), versions: list(anyObject).optional() }),
)
export const modelCard = named(
  'ModelCard',
  object({
    ...modelShape,
    parameters: object({
      max_seq_len: number.optional(),
      max_batch_size: number,
      cache_size: number.optional(),
      cache_mode: text.optional(),
      chunk_size: number.optional(),
      prompt_template: text.optional(),
      prompt_template_content: text.optional(),
      use_vision: flag.optional(),
      draft: object({ ...modelShape, parameters: anyObject }).optional(),
    }),
  }),
)

const filePage = { first_id: text.nullable(), last_id: text.nullable(), has_more: flag }
export const file = named(
  'File',
  object({
    id: text,
    object: is('file'),
    bytes: number,
    created_at: number,
    filename: text,
    purpose: text,
    status: is('processed'),
  }),
)
export const fileList = named('FileList', object({ object: is('list'), data: list(file), ...filePage }))
export const deletedFile = object({ id: text, object: is('file'), deleted: is(true) })

const item = named('ResponseItem', object({ type: text, id: text.optional() }).catchall(anything))
export const response = named(
  'Response',
  object({
    id: text,
    object: is('response'),
    created_at: number,
    completed_at: number.nullable(),
    status: oneOf(['queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled']),
    error: object({ code: text, message: text }).nullable(),
    incomplete_details: object({ reason: text }).nullable(),
    model: text,
    output: list(item),
    usage: responseUsage.nullable(),
    background: flag,
    conversation: object({ id: text }).nullable(),
    instructions: anything,
    max_output_tokens: number.nullable(),
    max_tool_calls: number.nullable(),
    metadata: anyObject,
    parallel_tool_calls: flag,
    previous_response_id: text.nullable(),
    prompt_cache_key: text.nullable(),
    reasoning: anyObject,
    safety_identifier: text.nullable(),
    service_tier: text,
    store: flag,
    temperature: number,
    text: anyObject,
    tool_choice: anything,
    tools: list(anyObject),
    top_logprobs: number,
    top_p: number,
    presence_penalty: number,
    frequency_penalty: number,
    truncation: text,
    user: text.optional(),
  }),
)
export const responseEvent = named(
  'ResponseEvent',
  object({ type: text, sequence_number: number, response: response.optional() }).catchall(anything),
)
export const responseList = object({ object: is('list'), data: list(response), ...page })
export const itemList = named('ItemList', object({ object: is('list'), data: list(item), ...page }))
export const responseItem = item
export const compaction = object({
  id: text,
  object: is('response.compaction'),
  created_at: number,
  output: list(item),
  usage: responseUsage,
})
export const inputTokens = named('InputTokens', object({ object: is('response.input_tokens'), input_tokens: number }))
export const deletedResponse = object({ id: text, object: is('response'), deleted: is(true) })
export const conversation = named(
  'Conversation',
  object({ id: text, object: is('conversation'), created_at: number, metadata: anyObject }),
)
export const deletedConversation = object({ id: text, object: is('conversation.deleted'), deleted: is(true) })
