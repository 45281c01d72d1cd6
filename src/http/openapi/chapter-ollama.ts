import {
  chatFields,
  deleteFields,
  embeddingsFields,
  embedFields,
  generateFields,
  pullFields,
  showFields,
} from '../../dialect/ollama/fields.ts'
import * as reply from '../../dialect/ollama/replies.ts'
import { chatSchema, embeddingsSchema, embedSchema, generateSchema, namedSchema } from '../../dialect/ollama/schema.ts'
import { flag, object, text } from '../../dialect/wire/json/shapes.ts'
import { messages } from './chapter-openai.ts'
import { type Body, type Chapter, lines } from './operation.ts'

const model = 'MODEL'
const body = (name: string, fields: Body['fields'] = []): Body => ({ name, schema: namedSchema, fields })

export const ollama: Chapter = {
  tag: 'Ollama',
  about: 'Its API for chats, texts, embeddings and models; the routes that would change models are refused in words',
  operations: {
    'POST /api/chat': {
      title: 'Ollama: chat',
      body: { name: 'OllamaChatRequest', schema: chatSchema, fields: chatFields },
      reply: reply.chat,
      stream: lines(reply.chat),
      example: { model, messages, stream: false },
    },
    'POST /api/generate': {
      title: 'Ollama: generate',
      body: { name: 'OllamaGenerateRequest', schema: generateSchema, fields: generateFields },
      reply: reply.generated,
      stream: lines(reply.generated),
      example: { model, prompt: 'Once upon a time', stream: false },
    },
    'POST /api/embed': {
      title: 'Ollama: embed',
      body: { name: 'OllamaEmbedRequest', schema: embedSchema, fields: embedFields },
      reply: reply.embed,
      example: { model, input: ['Good morning.'] },
    },
    'POST /api/embeddings': {
      title: 'Ollama: embeddings',
      body: { name: 'OllamaEmbeddingsRequest', schema: embeddingsSchema, fields: embeddingsFields },
      reply: reply.embedding,
      example: { model, prompt: 'Good morning.' },
    },
    'POST /api/show': {
      title: 'Ollama: show a model',
      body: body('OllamaShowRequest', showFields),
      reply: reply.shown,
      example: { model },
    },
    'POST /api/pull': {
      title: 'Ollama: pull a model',
      body: body('OllamaPullRequest', pullFields),
      reply: reply.progress,
      stream: lines(reply.progress),
      example: { model, stream: false },
    },
    'DELETE /api/delete': {
      title: 'Ollama: delete a model that a request has added, with its file if that was fetched',
      body: body('OllamaDeleteRequest', deleteFields),
      reply: 'empty',
      example: { model },
    },
    'GET /api/tags': {
      title: 'The models and their aliases',
      reply: reply.tags,
    },
    'GET /api/ps': {
      title: 'The loaded models',
      reply: reply.loaded,
    },
    'GET /api/version': { title: 'The version of the API', reply: object({ version: text, dragoman: text }) },
    'GET /api/status': { title: 'That there is no cloud', reply: object({ cloud: object({ disabled: flag, source: text }) }) },
  },
}
