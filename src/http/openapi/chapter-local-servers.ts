import { koboldSchema } from '../../dialect/kobold/decode.ts'
import { koboldFields } from '../../dialect/kobold/fields.ts'
import { generated, lastLogprobs, perf, piece } from '../../dialect/kobold/replies.ts'
import { countFields, countSchema, detokenizeFields, detokenizeSchema } from '../../dialect/kobold/tokens.ts'
import * as lmStudioFields from '../../dialect/lm-studio/fields.ts'
import * as lmStudioReply from '../../dialect/lm-studio/replies.ts'
import * as lmStudioSchema from '../../dialect/lm-studio/schema.ts'
import { embeddings } from '../../dialect/openai-embeddings/replies.ts'
import { generateSchema } from '../../dialect/unsloth/dialect.ts'
import { generateFields, loadFields, speechFields, unloadFields, validateFields } from '../../dialect/unsloth/fields.ts'
import * as unslothReply from '../../dialect/unsloth/replies.ts'
import { loadSchema, unloadSchema, validateSchema } from '../../dialect/unsloth/requests.ts'
import { speechSchema } from '../../dialect/unsloth/speech.ts'
import { toolConfirmFields, toolConfirmSchema } from '../../dialect/unsloth/tool-confirm.ts'
import { cancelFields } from '../../dialect/wire/cancel-keys.ts'
import { anything, flag, list, number, numbers, object, oneOf, text, texts } from '../../dialect/wire/json/shapes.ts'
import { chatBody, embeddingBody, messages } from './chapter-openai.ts'
import { encodeBody } from './chapter-tabby.ts'
import { type Body, type Chapter, sse } from './operation.ts'

const result = object({ result: text })
const value = object({ value: number })
const generate: Body = { name: 'KoboldRequest', schema: koboldSchema, fields: koboldFields, filledIn: ['model'] }
const named: Body = { name: 'KoboldGenerationName', schema: object({ genkey: text.optional() }), isOptional: true }
const textSoFar = object({ results: list(object({ text })) })

export const kobold: Chapter = {
  tag: 'KoboldAI',
  about: "KoboldAI's and KoboldCpp's routes",
  operations: {
    'POST /api/v1/generate': {
      title: 'KoboldAI: generate',
      also: ['/api/latest/generate'],
      body: generate,
      reply: generated,
      example: { prompt: 'Once upon a time', max_length: 20 },
    },
    'POST /api/extra/generate/stream': {
      title: 'The same as a stream',
      body: generate,
      stream: sse(piece),
      example: { prompt: 'Once upon a time', max_length: 20 },
    },
    'POST /api/extra/abort': {
      title: 'End the generation of a `genkey`',
      also: ['/api/v1/abort'],
      body: named,
      reply: object({ success: flag, done: flag }),
      example: { genkey: 'KCPP1234' },
    },
    'POST /api/extra/tokencount': {
      title: 'The tokens of a text',
      body: { name: 'KoboldTokenCountRequest', schema: countSchema, fields: countFields },
      reply: object({ value: number, ids: numbers }),
      example: { prompt: 'Good morning.' },
    },
    'POST /api/extra/detokenize': {
      title: 'The text of tokens',
      body: { name: 'KoboldDetokenizeRequest', schema: detokenizeSchema, fields: detokenizeFields },
      reply: object({ result: text, success: flag }),
      example: { ids: [71, 111] },
    },
    'POST /api/extra/generate/check': {
      title: 'The text so far of the generation of a `genkey`',
      body: named,
      reply: textSoFar,
      example: { genkey: 'KCPP1234' },
    },
    'GET /api/extra/generate/check': { title: "The text so far of the key's last generation", reply: textSoFar },
    'POST /api/extra/last_logprobs': {
      title: 'The log-probabilities of the generation of a `genkey`',
      body: named,
      reply: lastLogprobs,
      example: { genkey: 'KCPP1234' },
    },
    'POST /api/extra/embeddings': {
      title: 'Embeddings, as `/v1/embeddings`; the models `kcpp` and `koboldcpp` are the default one',
      body: embeddingBody,
      reply: embeddings,
      example: { input: 'Good morning.' },
    },
    'GET /api/extra/perf': { title: "The times of the key's last generation", reply: perf },
    'GET /api/v1/config/soft_prompt': { title: 'The soft prompt: there is none', reply: object({ value: text }) },
    'GET /api/v1/config/soft_prompts_list': { title: 'The soft prompts: there are none', reply: object({ values: texts }) },
    'GET /api/v1/model': { title: 'The name of the model', also: ['/api/latest/model'], reply: result },
    'GET /api/v1/info/version': { title: 'The version of the API', also: ['/api/latest/info/version'], reply: result },
    'GET /api/v1/config/max_context_length': {
      title: 'The context length',
      also: ['/api/latest/config/max_context_length', '/api/extra/true_max_context_length'],
      reply: value,
    },
    'GET /api/v1/config/max_length': {
      title: 'The default limit on the output',
      also: ['/api/latest/config/max_length'],
      reply: value,
    },
    'GET /api/extra/version': {
      title: 'What this server can do',
      reply: object({ result: text, version: text }).catchall(anything),
    },
  },
}

export const lmStudio: Chapter = {
  tag: 'LM Studio',
  about: 'Its REST API: chats that it stores, loading and fetching models, and the lists of its versions 0 and 1',
  operations: {
    'POST /api/v1/chat': {
      title: 'LM Studio: answer, stored as a response',
      body: { name: 'LmStudioChatRequest', schema: lmStudioSchema.chatSchema, fields: lmStudioFields.chatFields },
      reply: lmStudioReply.answer,
      stream: sse(lmStudioReply.event),
      example: { model: 'MODEL', input: 'Good morning.' },
    },
    'GET /api/v1/models': { title: 'The models', reply: lmStudioReply.models },
    'POST /api/v1/models/load': {
      title: 'LM Studio: load a model; the reply waits for it',
      body: { name: 'LmStudioLoadRequest', schema: lmStudioSchema.loadSchema, fields: lmStudioFields.loadFields },
      reply: lmStudioReply.loaded,
      example: { model: 'MODEL' },
    },
    'POST /api/v1/models/unload': {
      title: 'LM Studio: unload a model',
      body: { name: 'LmStudioUnloadRequest', schema: lmStudioSchema.unloadSchema, fields: lmStudioFields.unloadFields },
      reply: lmStudioReply.unloaded,
      example: { instance_id: 'MODEL' },
    },
    'POST /api/v1/models/download': {
      title: 'Fetch a model, as a job',
      body: { name: 'LmStudioDownloadRequest', schema: lmStudioSchema.downloadSchema, fields: lmStudioFields.downloadFields },
      reply: lmStudioReply.download,
      example: { model: 'MODEL' },
    },
    'GET /api/v1/models/download/status/{job}': { title: 'How far a download is', reply: lmStudioReply.download },
    'GET /lmstudio-greeting': {
      title: "What LM Studio's SDKs ask before they open WebSockets",
      reply: object({ lmstudio: flag }),
    },
    'GET /api/v0/models': { title: 'The models, in version 0', reply: lmStudioReply.listedModels },
    'GET /api/v0/models/{id}': { title: 'A model', reply: lmStudioReply.listedModel },
  },
}

export const otherLists: Chapter = {
  tag: 'text-generation-webui',
  about: 'Its lists of models and its count of tokens',
  operations: {
    'GET /v1/internal/model/info': { title: 'The default model', reply: object({ model_name: text, lora_names: texts }) },
    'GET /v1/internal/model/list': { title: 'The names of the models', reply: object({ model_names: texts }) },
    'POST /v1/internal/token-count': {
      title: 'The number of tokens of a text',
      body: encodeBody,
      reply: object({ length: number }),
      example: { text: 'Good morning.' },
    },
  },
}

export const unsloth: Chapter = {
  tag: 'Unsloth Studio',
  about: 'Loading models, what runs, its own stream, and speech',
  operations: {
    'POST /api/inference/load': {
      title: 'Unsloth: load a model',
      body: { name: 'UnslothLoadRequest', schema: loadSchema, fields: loadFields },
      reply: unslothReply.loaded,
      example: { model_path: 'MODEL' },
    },
    'POST /api/inference/validate': {
      title: 'Unsloth: find a model',
      body: { name: 'UnslothValidateRequest', schema: validateSchema, fields: validateFields },
      reply: unslothReply.found,
      example: { model_path: 'MODEL' },
    },
    'POST /api/inference/unload': {
      title: 'Unsloth: unload a model',
      body: { name: 'UnslothUnloadRequest', schema: unloadSchema, fields: unloadFields },
      reply: object({ status: oneOf(['unloaded', 'cancelled']), model: text.nullable(), cancelled: number.optional() }),
      example: { model_path: 'MODEL' },
    },
    'POST /api/inference/tool-confirm': {
      title: 'Approve a call of a tool of the server, or not',
      body: { name: 'ToolConfirmRequest', schema: toolConfirmSchema, fields: toolConfirmFields },
      reply: object({ tool_call_id: text.optional(), approved: flag.optional(), resolved: flag.optional() }),
      example: { tool_call_id: 'call_1', approved: true },
    },
    'GET /api/inference/status': {
      title: 'The active model, and all models',
      reply: unslothReply.status,
    },
    'GET /api/inference/load-progress': {
      title: 'How far a load is',
      reply: unslothReply.progress,
    },
    'GET /api/inference/active-generations': {
      title: 'What generates for the caller',
      reply: unslothReply.active,
    },
    'POST /api/inference/generate/stream': {
      title: 'Unsloth: generate',
      body: {
        name: 'UnslothGenerateRequest',
        schema: generateSchema,
        fields: [...generateFields, ...cancelFields],
        filledIn: ['model'],
      },
      stream: sse(unslothReply.piece),
      example: { messages },
    },
    'POST /v1/chat/count_tokens': {
      title: 'Count the tokens of a conversation',
      body: chatBody,
      reply: object({ input_tokens: number, model: text, estimated: flag.optional() }),
      example: { messages },
    },
    'POST /v1/audio/generate': {
      title: 'Unsloth: speech',
      body: { name: 'UnslothSpeechRequest', schema: speechSchema, fields: [...speechFields, ...cancelFields] },
      reply: unslothReply.speech,
      example: { messages },
    },
  },
}
