import { countFields, messageFields } from '../../dialect/anthropic/fields.ts'
import * as reply from '../../dialect/anthropic/replies.ts'
import { countSchema, messageSchema } from '../../dialect/anthropic/schema.ts'
import { messages } from './chapter-openai.ts'
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
  },
}
