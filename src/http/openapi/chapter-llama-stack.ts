import {
  batchChatFields,
  batchCompletionFields,
  chatFields,
  completionFields,
  embeddingsFields,
  nestedFields,
  rerankFields,
} from '../../dialect/llama-stack/fields.ts'
import * as reply from '../../dialect/llama-stack/replies.ts'
import { rerankSchema } from '../../dialect/llama-stack/rerank.ts'
import {
  batchChatSchema,
  batchCompletionSchema,
  chatSchema,
  completionSchema,
  embeddingsSchema,
} from '../../dialect/llama-stack/schema.ts'
import type { Field } from '../../dialect/wire/field-table.ts'
import { object, text } from '../../dialect/wire/json/shapes.ts'
import { messages } from './chapter-openai.ts'
import { type Body, type Chapter, sse } from './operation.ts'

const body = (name: string, schema: Body['schema'], fields: readonly Field[]): Body => ({
  name,
  schema,
  fields: [...fields, ...nestedFields],
  filledIn: ['model_id'],
})

export const llamaStack: Chapter = {
  tag: 'llama-stack',
  about: 'Its inference API, its providers and its own health',
  operations: {
    'POST /v1/inference/chat-completion': {
      title: 'llama-stack: chat completion',
      body: body('StackChatRequest', chatSchema, chatFields),
      reply: reply.chat,
      stream: sse(reply.chatChunk),
      example: { messages },
    },
    'POST /v1/inference/completion': {
      title: 'llama-stack: completion',
      body: body('StackCompletionRequest', completionSchema, completionFields),
      reply: reply.completion,
      stream: sse(reply.completionChunk),
      example: { content: 'Once upon a time' },
    },
    'POST /v1/inference/batch-chat-completion': {
      title: 'llama-stack: batch of chat completions',
      also: ['/v1/batch-inference/chat-completion'],
      body: body('StackChatBatchRequest', batchChatSchema, batchChatFields),
      reply: reply.chats,
      example: { messages_batch: [messages, messages] },
    },
    'POST /v1/inference/batch-completion': {
      title: 'llama-stack: batch of completions',
      also: ['/v1/batch-inference/completion'],
      body: body('StackCompletionBatchRequest', batchCompletionSchema, batchCompletionFields),
      reply: reply.completions,
      example: { content_batch: ['Good morning.', 'Good night.'] },
    },
    'POST /v1/inference/embeddings': {
      title: 'llama-stack: embeddings',
      body: { name: 'StackEmbeddingRequest', schema: embeddingsSchema, fields: embeddingsFields, filledIn: ['model_id'] },
      reply: reply.embeddings,
      example: { contents: ['Good morning.'] },
    },
    'POST /v1/inference/rerank': {
      title: 'llama-stack: reranking',
      also: ['/v1alpha/inference/rerank'],
      body: { name: 'StackRerankRequest', schema: rerankSchema, fields: rerankFields, filledIn: ['model'] },
      reply: reply.ranking,
      example: { query: 'Where is the harbour?', items: ['The harbour is in the north.', 'It rains.'] },
    },
    'GET /v1/providers': { title: 'Each model as a provider', reply: reply.providers },
    'GET /v1/providers/{id}': { title: 'A model as a provider', reply: reply.provider },
    'GET /v1/inspect/routes': { title: 'The routes of this server', reply: reply.routes },
    'GET /v1/health': { title: 'Whether the server runs', reply: object({ status: text }) },
    'GET /v1/version': { title: 'The version of this server', reply: object({ version: text }) },
  },
}
