import { z } from 'zod'
import { newMessageBatchSchema } from '../../dialect/anthropic/batches.ts'
import { countFields, messageFields } from '../../dialect/anthropic/fields.ts'
import * as reply from '../../dialect/anthropic/replies.ts'
import { countSchema, messageSchema } from '../../dialect/anthropic/schema.ts'
import { digits, messages } from './chapter-openai.ts'
import { type Chapter, sse } from './operation.ts'

const filledIn = ['model']

export const anthropic: Chapter = {
  tag: 'Anthropic',
  about: 'Messages; models and files are those of OpenAI, in the form of Anthropic with the header `anthropic-version`',
  operations: {
    'POST /v1/messages': {
      title: 'Anthropic Messages',
      body: { name: 'MessageRequest', schema: messageSchema, fields: messageFields, filledIn },
      reply: reply.message,
      stream: sse(reply.messageEvent),
      example: { max_tokens: 100, messages },
    },
    'POST /v1/messages/count_tokens': {
      title: 'Anthropic: count tokens',
      body: { name: 'MessageCountRequest', schema: countSchema, fields: countFields, filledIn },
      reply: reply.count,
      example: { messages },
    },
    'POST /v1/messages/batches': {
      title: 'Anthropic: run Messages requests when nobody else waits',
      body: { name: 'MessageBatchRequest', schema: newMessageBatchSchema },
      reply: reply.messageBatch,
      example: { requests: [{ custom_id: 'first', params: { model: 'MODEL', max_tokens: 100, messages } }] },
    },
    'GET /v1/messages/batches': {
      title: 'Anthropic: the batches of the caller',
      query: z.object({ before_id: z.string().optional(), after_id: z.string().optional(), limit: digits.optional() }),
      reply: reply.messageBatchList,
    },
    'GET /v1/messages/batches/{id}': { title: 'Anthropic: a batch', reply: reply.messageBatch },
    'POST /v1/messages/batches/{id}/cancel': {
      title: 'Anthropic: end a batch; the results so far are kept',
      reply: reply.messageBatch,
    },
    'DELETE /v1/messages/batches/{id}': {
      title: 'Anthropic: delete a batch that has ended, and its results',
      reply: reply.deletedMessageBatch,
    },
    'GET /v1/messages/batches/{id}/results': {
      title: 'Anthropic: the results of a batch',
      stream: { type: 'application/x-jsonl', each: reply.messageResult },
    },
  },
}
