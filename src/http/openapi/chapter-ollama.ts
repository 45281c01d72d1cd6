import {
  chatFields,
  deleteFields,
  embeddingsFields,
  embedFields,
  generateFields,
  pullFields,
  showFields,
} from '../../dialect/ollama/fields.ts'
import { chatSchema, embeddingsSchema, embedSchema, generateSchema, namedSchema } from '../../dialect/ollama/schema.ts'
import { anyObject, flag, is, list, named, number, numbers, object, text, texts } from '../../dialect/wire/json/shapes.ts'
import { messages } from './chapter-openai.ts'
import { type Body, type Chapter, lines } from './operation.ts'

const model = 'MODEL'
const logprob = { token: text, logprob: number, bytes: numbers }
const reply = {
  model: text,
  created_at: text,
  logprobs: list(object({ ...logprob, top_logprobs: list(object(logprob)).optional() })).optional(),
  done: flag,
  done_reason: text.optional(),
  total_duration: number.optional(),
  load_duration: number.optional(),
  prompt_eval_count: number.optional(),
  prompt_eval_duration: number.optional(),
  eval_count: number.optional(),
  eval_duration: number.optional(),
}
const calls = list(object({ id: text, function: object({ index: number, name: text, arguments: anyObject }) }))
const chat = named(
  'OllamaChat',
  object({
    ...reply,
    message: object({ role: is('assistant'), content: text, thinking: text.optional(), tool_calls: calls.optional() }),
  }),
)
const generated = named('OllamaGenerated', object({ ...reply, response: text, thinking: text.optional() }))
const details = object({
  parent_model: text,
  format: text,
  family: text,
  families: texts.nullable(),
  parameter_size: text,
  quantization_level: text,
  context_length: number.optional(),
  embedding_length: number.optional(),
})
const listed = { name: text, model: text, size: number, digest: text, details }
const progress = object({
  status: text.optional(),
  digest: text.optional(),
  total: number.optional(),
  completed: number.optional(),
  error: text.optional(),
})
const body = (name: string, fields: Body['fields'] = []): Body => ({ name, schema: namedSchema, fields })

export const ollama: Chapter = {
  tag: 'Ollama',
  about: 'Its API for chats, texts, embeddings and models; the routes that would change models are refused in words',
  operations: {
    'POST /api/chat': {
      title: 'Ollama: chat',
      body: { name: 'OllamaChatRequest', schema: chatSchema, fields: chatFields },
      reply: chat,
      stream: lines(chat),
      example: { model, messages, stream: false },
    },
    'POST /api/generate': {
      title: 'Ollama: generate',
      body: { name: 'OllamaGenerateRequest', schema: generateSchema, fields: generateFields },
      reply: generated,
      stream: lines(generated),
      example: { model, prompt: 'Once upon a time', stream: false },
    },
    'POST /api/embed': {
      title: 'Ollama: embed',
      body: { name: 'OllamaEmbedRequest', schema: embedSchema, fields: embedFields },
      reply: object({
        model: text,
        embeddings: list(numbers),
        total_duration: number,
        load_duration: number,
        prompt_eval_count: number,
      }),
      example: { model, input: ['Good morning.'] },
    },
    'POST /api/embeddings': {
      title: 'Ollama: embeddings',
      body: { name: 'OllamaEmbeddingsRequest', schema: embeddingsSchema, fields: embeddingsFields },
      reply: object({ embedding: numbers }),
      example: { model, prompt: 'Good morning.' },
    },
    'POST /api/show': {
      title: 'Ollama: show a model',
      body: body('OllamaShowRequest', showFields),
      reply: object({
        license: text,
        modelfile: text,
        parameters: text,
        template: text,
        details,
        model_info: anyObject,
        capabilities: texts,
        modified_at: text,
      }),
      example: { model },
    },
    'POST /api/pull': {
      title: 'Ollama: pull a model',
      body: body('OllamaPullRequest', pullFields),
      reply: progress,
      stream: lines(progress),
      example: { model, stream: false },
    },
    'DELETE /api/delete': {
      title: 'Ollama: delete a model',
      body: body('OllamaDeleteRequest', deleteFields),
      reply: 'empty',
      example: { model },
    },
    'GET /api/tags': {
      title: 'The models and their aliases',
      reply: object({ models: list(object({ ...listed, modified_at: text, capabilities: texts })) }),
    },
    'GET /api/ps': {
      title: 'The loaded models',
      reply: object({ models: list(object({ ...listed, expires_at: text, size_vram: number, context_length: number })) }),
    },
    'GET /api/version': { title: 'The version of the API', reply: object({ version: text, dragoman: text }) },
    'GET /api/status': { title: 'That there is no cloud', reply: object({ cloud: object({ disabled: flag, source: text }) }) },
  },
}
