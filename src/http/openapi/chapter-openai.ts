import { z } from 'zod'
import * as anthropic from '../../dialect/anthropic/replies.ts'
import * as stack from '../../dialect/llama-stack/replies.ts'
import { newBatchSchema } from '../../dialect/openai/batches.ts'
import { nestedConstraintFields } from '../../dialect/openai/common-fields.ts'
import { listSchema, metadataSchema, pageSchema } from '../../dialect/openai/lists.ts'
import * as shared from '../../dialect/openai/replies.ts'
import { chatFields } from '../../dialect/openai-chat/fields.ts'
import * as chat from '../../dialect/openai-chat/replies.ts'
import { chatRequestSchema } from '../../dialect/openai-chat/schema.ts'
import { completionFields } from '../../dialect/openai-completions/fields.ts'
import * as completions from '../../dialect/openai-completions/replies.ts'
import { completionRequestSchema } from '../../dialect/openai-completions/schema.ts'
import { decisionFields } from '../../dialect/openai-decisions/fields.ts'
import { decisions, tabbyDecisions } from '../../dialect/openai-decisions/replies.ts'
import { decisionSchema } from '../../dialect/openai-decisions/schema.ts'
import { embeddingRequestSchema } from '../../dialect/openai-embeddings/embeddings.ts'
import { embeddingFields } from '../../dialect/openai-embeddings/fields.ts'
import { embeddings } from '../../dialect/openai-embeddings/replies.ts'
import { newConversationSchema } from '../../dialect/openai-responses/decode-conversations.ts'
import { compactFields, inputTokensFields, nestedResponseFields, responseFields } from '../../dialect/openai-responses/fields.ts'
import { itemsSchema } from '../../dialect/openai-responses/items.ts'
import { retrieveSchema } from '../../dialect/openai-responses/queries.ts'
import * as responses from '../../dialect/openai-responses/replies.ts'
import { responseSchema } from '../../dialect/openai-responses/schema.ts'
import { transcriptionFields } from '../../dialect/openai-transcriptions/fields.ts'
import { transcript } from '../../dialect/openai-transcriptions/replies.ts'
import { rerankFields, scoreFields } from '../../dialect/scoring/fields.ts'
import { ranking, scores } from '../../dialect/scoring/replies.ts'
import { rerankSchema, scoreSchema } from '../../dialect/scoring/scoring.ts'
import { cancelFields, cancelShape } from '../../dialect/wire/cancel-keys.ts'
import { either } from '../../dialect/wire/json/shapes.ts'
import { type Body, type Chapter, type Operations, sse } from './operation.ts'

const filledIn = ['model']
export const messages = [{ role: 'user', content: 'Good morning.' }]

export const embeddingBody: Body = { name: 'EmbeddingRequest', schema: embeddingRequestSchema, fields: embeddingFields, filledIn }
export const chatBody: Body = {
  name: 'ChatCompletionRequest',
  schema: chatRequestSchema,
  fields: [...chatFields, ...nestedConstraintFields],
  filledIn,
}
const responseBody: Body = {
  name: 'ResponseRequest',
  schema: responseSchema,
  fields: [...responseFields, ...nestedResponseFields],
  filledIn,
}
/** A body with some of a response's fields. */
const narrow = (name: string, fields: Body['fields'] = [], filled = filledIn): Body => {
  const known = new Set(fields.map((field) => field.name))
  const shape = Object.fromEntries(Object.entries(responseSchema.shape).filter(([field]) => known.has(field)))
  return { name, schema: z.looseObject(shape), fields, filledIn: filled }
}
const itemsBody: Body = { name: 'ItemsRequest', schema: itemsSchema }
const item = { type: 'message', role: 'user', content: 'Good morning.' }

/** Another server reads it: only its model is known here. */
const passedOn = (name: string, fields: readonly string[]): Body => {
  const shape = Object.fromEntries(fields.map((field) => [field, z.string().optional()]))
  return { name, schema: z.looseObject({ model: z.string().min(1).nullish(), ...shape, ...cancelShape }) }
}
const soundForm = z.looseObject({ file: z.file(), model: z.string().min(1).optional() })
const pictureForm = z.looseObject({ image: z.file(), model: z.string().min(1).optional(), prompt: z.string().optional() })
/** A server that has the service says more. */
const heard = z.union([transcript, z.looseObject({})])
const purpose = z.enum(['user_data', 'vision', 'batch'])
export const digits = z.string().regex(/^[1-9]\d{0,3}$/)

type Kept = { readonly name: string; readonly reply: z.ZodType; readonly deleted: z.ZodType }

/** Stored objects with metadata, by id. */
const kept = (path: string, { name, reply, deleted }: Kept): Operations => ({
  [`GET ${path}/{id}`]: { title: `A ${name}`, reply },
  [`POST ${path}/{id}`]: {
    title: `Replace the metadata of a ${name}`,
    body: { name: 'MetadataRequest', schema: metadataSchema },
    reply,
    example: { metadata: { topic: 'greetings' } },
  },
  [`DELETE ${path}/{id}`]: { title: `Delete a ${name}`, reply: deleted },
})

export const openai: Chapter = {
  tag: 'OpenAI',
  about: 'Chat completions, completions, embeddings, Responses, conversations, files, sound and pictures',
  operations: {
    'POST /v1/chat/completions': {
      title: 'OpenAI chat completions',
      body: chatBody,
      reply: chat.chatCompletion,
      stream: sse(chat.chatChunk),
      example: { messages },
    },
    'GET /v1/chat/completions': { title: 'List stored completions', query: listSchema, reply: chat.storedChats },
    ...kept('/v1/chat/completions', { name: 'stored completion', reply: chat.storedChat, deleted: chat.deletedChat }),
    'GET /v1/chat/completions/{id}/messages': {
      title: 'The messages of a stored completion',
      query: pageSchema,
      reply: chat.storedMessages,
    },
    'POST /v1/completions': {
      title: 'OpenAI completions',
      body: {
        name: 'CompletionRequest',
        schema: completionRequestSchema,
        fields: [...completionFields, ...nestedConstraintFields],
        filledIn,
      },
      reply: completions.completion,
      stream: sse(completions.completionChunk),
      example: { prompt: 'Once upon a time', max_tokens: 20 },
    },
    'POST /v1/decisions': {
      title: 'OpenAI decisions',
      body: { name: 'DecisionRequest', schema: decisionSchema, fields: [...decisionFields, ...cancelFields], filledIn },
      reply: either([decisions, tabbyDecisions]),
      example: {
        input: 'I was charged twice.',
        questions: [{ type: 'predicate', name: 'refund', instructions: 'Is this about money?' }],
      },
    },
    'POST /v1/embeddings': {
      title: 'OpenAI embeddings',
      body: embeddingBody,
      reply: embeddings,
      example: { input: ['Good morning.', 'Good night.'] },
    },
    'POST /v1/responses': {
      title: 'OpenAI Responses',
      body: responseBody,
      reply: responses.response,
      stream: sse(responses.responseEvent),
      example: { input: 'Good morning.' },
    },
    'GET /v1/responses': {
      title: 'List stored responses; with `upgrade: websocket`, a socket for Responses',
      query: listSchema,
      reply: responses.responseList,
    },
    'GET /v1/responses/{id}': {
      title: 'A stored response, or the stream of its events',
      query: retrieveSchema,
      reply: responses.response,
      stream: sse(responses.responseEvent),
    },
    'DELETE /v1/responses/{id}': { title: 'Delete a stored response', reply: responses.deletedResponse },
    'GET /v1/responses/{id}/input_items': {
      title: 'The input of a stored response',
      query: pageSchema,
      reply: responses.itemList,
    },
    'POST /v1/responses/{id}/cancel': { title: 'Cancel a response that runs in the background', reply: responses.response },
    'POST /v1/responses/input_tokens': {
      title: 'OpenAI Responses: count tokens',
      body: narrow('InputTokensRequest', inputTokensFields),
      reply: responses.inputTokens,
      example: { input: 'Good morning.' },
    },
    'POST /v1/responses/compact': {
      title: 'OpenAI Responses: compact',
      body: narrow('CompactRequest', compactFields, []),
      reply: responses.compaction,
      example: { model: 'default', input: 'Good morning.' },
    },
    'POST /v1/conversations': {
      title: 'Create a conversation',
      body: { name: 'ConversationRequest', schema: newConversationSchema, isOptional: true },
      reply: responses.conversation,
      example: { items: [item] },
    },
    ...kept('/v1/conversations', { name: 'conversation', reply: responses.conversation, deleted: responses.deletedConversation }),
    'POST /v1/conversations/{id}/items': {
      title: 'Add items to a conversation',
      body: itemsBody,
      reply: responses.itemList,
      example: { items: [item] },
    },
    'GET /v1/conversations/{id}/items': { title: 'The items of a conversation', query: pageSchema, reply: responses.itemList },
    'GET /v1/conversations/{id}/items/{itemId}': { title: 'An item of a conversation', reply: responses.responseItem },
    'DELETE /v1/conversations/{id}/items/{itemId}': { title: 'Delete an item of a conversation', reply: responses.conversation },
    'GET /v1/models': {
      title: 'The models; in the form of Anthropic or llama-stack for their clients, by their headers',
      reply: z.union([shared.modelList, anthropic.modelList, stack.modelList]),
    },
    'GET /v1/models/{id}': { title: 'A model', reply: z.union([shared.modelDetail, anthropic.model, stack.model]) },
    'POST /v1/files': {
      title: 'Upload a file; its forms are those of Anthropic with `anthropic-version`',
      body: { name: 'FileUpload', schema: z.looseObject({ file: z.file(), purpose: purpose.optional() }), isForm: true },
      reply: z.union([shared.file, anthropic.file]),
    },
    'GET /v1/files': {
      title: 'The files of the caller',
      query: z.object({ purpose: purpose.optional(), order: z.enum(['asc', 'desc']).optional(), limit: digits.optional() }),
      reply: z.union([shared.fileList, anthropic.fileList]),
    },
    'GET /v1/files/{id}': { title: 'A file', reply: z.union([shared.file, anthropic.file]) },
    'GET /v1/files/{id}/content': { title: 'The bytes of a file', reply: { types: ['application/octet-stream'] } },
    'DELETE /v1/files/{id}': { title: 'Delete a file', reply: z.union([shared.deletedFile, anthropic.deletedFile]) },
    'POST /v1/batches': {
      title: 'Run the requests of a file when nobody else waits',
      body: { name: 'BatchRequest', schema: newBatchSchema },
      reply: shared.batch,
      example: { input_file_id: 'FILE', endpoint: '/v1/chat/completions', completion_window: '24h' },
    },
    'GET /v1/batches': {
      title: 'The batches of the caller',
      query: z.object({ after: z.string().optional(), limit: digits.optional() }),
      reply: shared.batchList,
    },
    'GET /v1/batches/{id}': { title: 'A batch', reply: shared.batch },
    'POST /v1/batches/{id}/cancel': { title: 'End a batch; the results so far are kept', reply: shared.batch },
    'POST /v1/audio/speech': {
      title: 'Speech, by a server that has this service: other fields are passed on',
      body: passedOn('SpeechRequest', ['input']),
      reply: { types: ['audio/*'] },
      example: { input: 'Good morning.', voice: 'alloy' },
    },
    'POST /v1/images/generations': {
      title: 'Pictures, by a server that has this service: other fields are passed on',
      body: passedOn('ImageRequest', ['prompt']),
      reply: z.looseObject({}),
      example: { prompt: 'A lighthouse' },
    },
    'POST /v1/images/edits': {
      title: 'Pictures from pictures, by a server that has the service `images`: other fields are passed on',
      body: { name: 'ImageEditRequest', schema: pictureForm, isForm: true },
      reply: z.looseObject({}),
    },
    'POST /v1/images/variations': {
      title: 'The same without a prompt, where the server has it',
      body: { name: 'ImageVariationRequest', schema: pictureForm, isForm: true },
      reply: z.looseObject({}),
    },
    'GET /v1/audio/voices': {
      title: 'The voices of a server that has the service `speech`, in its own form: other fields are passed on',
      query: z.looseObject({ model: z.string().optional() }),
      reply: z.looseObject({}),
    },
    'GET /v1/audio/models': {
      title: 'The models whose servers speak, as Open WebUI lists them',
      reply: z.object({ models: z.array(z.object({ id: z.string(), name: z.string() })) }),
    },
    'POST /v1/audio/transcriptions': {
      title: 'The text of speech, by a model that hears, or by a server that has this service: fields are passed on to that',
      body: { name: 'TranscriptionRequest', schema: soundForm, fields: transcriptionFields, isForm: true },
      reply: heard,
    },
    'POST /v1/audio/translations': {
      title: 'The same in English',
      body: { name: 'TranslationRequest', schema: soundForm, fields: transcriptionFields, isForm: true },
      reply: heard,
    },
    'POST /v1/rerank': {
      title: 'Reranking',
      body: { name: 'RerankRequest', schema: rerankSchema, fields: rerankFields, filledIn },
      reply: ranking,
      example: { query: 'Where is the harbour?', documents: ['The harbour is in the north.', 'It rains.'] },
    },
    'POST /v1/score/evaluation': {
      title: 'LLaMA-Factory: scores',
      body: { name: 'ScoreRequest', schema: scoreSchema, fields: scoreFields, filledIn },
      reply: scores,
      example: { messages: ['Good morning.', 'Good night.'] },
    },
  },
}
