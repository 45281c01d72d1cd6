import { completionFields, infillFields } from '../../dialect/llama-server/fields.ts'
import { modelNameFields, modelNameSchema, repositoryFields } from '../../dialect/llama-server/model-name.ts'
import { completion, completions } from '../../dialect/llama-server/replies.ts'
import { completionSchema, infillSchema } from '../../dialect/llama-server/schema.ts'
import { controlled, controlSchema, lookupSchema, streamList, streamQuerySchema } from '../../dialect/llama-server/streams.ts'
import { nestedConstraintFields } from '../../dialect/openai/common-fields.ts'
import { props } from '../../dialect/openai/replies.ts'
import { embeddingRequestSchema } from '../../dialect/openai-embeddings/embeddings.ts'
import { embeddingFields } from '../../dialect/openai-embeddings/fields.ts'
import { llamaEmbeddings } from '../../dialect/openai-embeddings/replies.ts'
import { inputTokens } from '../../dialect/openai-responses/replies.ts'
import { detokenizeSchema, tokenizeSchema } from '../../dialect/tokens/decode.ts'
import { detokenizeFields, tokenizeFields } from '../../dialect/tokens/fields.ts'
import { type Field, used } from '../../dialect/wire/field-table.ts'
import { anyObject, either, flag, is, list, number, numbers, object, text } from '../../dialect/wire/json/shapes.ts'
import { chatBody, messages } from './chapter-openai.ts'
import { type Body, type Chapter, sse } from './operation.ts'

const filledIn = ['model']
const generating = (name: string, schema: Body['schema'], fields: readonly Field[]): Body => ({
  name,
  schema,
  fields: [...fields, ...nestedConstraintFields],
  filledIn,
})

const { input: _, ...others } = embeddingRequestSchema.shape
const { input } = embeddingRequestSchema.shape
const embeddingBody: Body = {
  name: 'LlamaEmbeddingRequest',
  schema: object({ ...others, input: input.optional(), content: input.optional() }),
  fields: [...embeddingFields, used('content', 'another name of `input`')],
  filledIn,
}
const modelName: Body = { name: 'ModelName', schema: modelNameSchema, fields: modelNameFields }
const success = object({ success: is(true) })
const example = { model: 'MODEL' }

export const llamaServer: Chapter = {
  tag: 'llama-server',
  about: 'Its own routes; those that it shares with OpenAI are under OpenAI',
  operations: {
    'POST /completion': {
      title: 'llama-server: completion',
      also: ['/completions'],
      body: generating('LlamaCompletionRequest', completionSchema, completionFields),
      reply: completions,
      stream: sse(completion),
      example: { prompt: 'Once upon a time', n_predict: 20 },
    },
    'POST /infill': {
      title: 'llama-server: infill',
      body: generating('LlamaInfillRequest', infillSchema, infillFields),
      reply: completions,
      stream: sse(completion),
      example: { input_prefix: 'def add(a, b):\n    return ', input_suffix: '\n', n_predict: 20 },
    },
    'POST /embedding': {
      title: 'llama-server: embedding',
      also: ['/embeddings'],
      body: embeddingBody,
      reply: llamaEmbeddings,
      example: { content: 'Good morning.' },
    },
    'POST /tokenize': {
      title: 'llama-server: tokenize',
      also: ['/v1/tokenize'],
      body: { name: 'TokenizeRequest', schema: tokenizeSchema, fields: tokenizeFields },
      reply: object({
        tokens: either([numbers, list(object({ id: number, piece: either([text, numbers]) }))]),
        count: number.optional(),
        max_model_len: number.nullable().optional(),
        token_strs: list(text).nullable().optional(),
      }),
      example: { content: 'Good morning.' },
    },
    'POST /detokenize': {
      title: 'llama-server: detokenize',
      body: { name: 'DetokenizeRequest', schema: detokenizeSchema, fields: detokenizeFields },
      reply: object({ content: text }),
      example: { tokens: [71, 111] },
    },
    'POST /apply-template': {
      title: 'The prompt that the chat template makes of a conversation',
      body: chatBody,
      reply: object({ prompt: text }),
      example: { messages },
    },
    'POST /v1/chat/completions/input_tokens': {
      title: 'Count the tokens of a conversation',
      body: chatBody,
      reply: inputTokens,
      example: { messages },
    },
    'POST /models/load': { title: 'llama-server: load and unload', body: modelName, reply: success, example },
    'POST /models/unload': { title: 'Unload a model', body: modelName, reply: success, example },
    'POST /v1/models': {
      title: 'llama-server: fetch and load a model of a repository; events tell how far it is',
      body: { name: 'RepositoryName', schema: modelNameSchema, fields: repositoryFields },
      reply: success,
      example: { model: 'OWNER/REPO:Q4_K_M' },
    },
    'DELETE /v1/models': {
      title: 'Remove a model that a request has added, with its file if that was fetched',
      query: object({ model: text.optional() }),
      reply: success,
    },
    'GET /models/sse': {
      title:
        'What happens to models: `model_status`, `status_change`, `download_progress`, `download_finished`, `models_reload` …',
      stream: sse(object({ model: text, event: text, data: anyObject.optional() })),
    },
    'GET /v1/stream': {
      title: 'A stream that was begun with the header `x-conversation-id`, from a byte on',
      query: streamQuerySchema,
      stream: sse(anyObject),
    },
    'DELETE /v1/stream': { title: 'End such a stream', query: object({ conv_id: text }), reply: 'empty', statuses: [204] },
    'POST /v1/streams/lookup': {
      title: 'Which of these conversations have a stream',
      body: { name: 'StreamLookup', schema: lookupSchema },
      reply: streamList,
      example: { conversation_ids: ['a'] },
    },
    'POST /v1/chat/completions/control': {
      title: 'llama-server: end the reasoning of a running reply, which is not possible here',
      body: { name: 'ChatControl', schema: controlSchema },
      reply: controlled,
      example: { action: 'reasoning_end', id: 'chatcmpl-1' },
    },
    'GET /props': {
      title: 'The properties of a model',
      query: object({ model: text.optional(), autoload: text.optional() }),
      reply: props,
    },
    'GET /slots': {
      title: 'The slots of a model',
      query: object({ model: text.optional() }),
      reply: list(object({ id: number, n_ctx: number, speculative: flag, is_processing: flag })),
    },
  },
}
