import { koboldSchema } from '../../dialect/kobold/decode.ts'
import { koboldFields } from '../../dialect/kobold/fields.ts'
import { generateSchema } from '../../dialect/unsloth/dialect.ts'
import { generateFields, loadFields, speechFields, unloadFields, validateFields } from '../../dialect/unsloth/fields.ts'
import { loadSchema, unloadSchema, validateSchema } from '../../dialect/unsloth/requests.ts'
import { speechSchema } from '../../dialect/unsloth/speech.ts'
import { toolConfirmFields, toolConfirmSchema } from '../../dialect/unsloth/tool-confirm.ts'
import { cancelFields } from '../../dialect/wire/cancel-keys.ts'
import {
  anyObject,
  anything,
  flag,
  is,
  list,
  named,
  number,
  numbers,
  object,
  oneOf,
  text,
  texts,
} from '../../dialect/wire/json/shapes.ts'
import { chatBody, messages } from './chapter-openai.ts'
import { encodeBody } from './chapter-tabby.ts'
import { type Body, type Chapter, sse } from './operation.ts'

const result = object({ result: text })
const value = object({ value: number })
const generate: Body = { name: 'KoboldRequest', schema: koboldSchema, fields: koboldFields, filledIn: ['model'] }
const abort: Body = { name: 'KoboldAbortRequest', schema: object({ genkey: text.optional() }), isOptional: true }
const end = oneOf(['stop', 'length', 'content_filter'])

export const kobold: Chapter = {
  tag: 'KoboldAI',
  about: "KoboldAI's and KoboldCpp's routes",
  operations: {
    'POST /api/v1/generate': {
      title: 'KoboldAI: generate',
      also: ['/api/latest/generate'],
      body: generate,
      reply: object({ results: list(object({ text, finish_reason: end, prompt_tokens: number, completion_tokens: number })) }),
      example: { prompt: 'Once upon a time', max_length: 20 },
    },
    'POST /api/extra/generate/stream': {
      title: 'The same as a stream',
      body: generate,
      stream: sse(object({ token: text, finish_reason: end.nullable() })),
      example: { prompt: 'Once upon a time', max_length: 20 },
    },
    'POST /api/extra/abort': {
      title: 'End the generation of a `genkey`',
      also: ['/api/v1/abort'],
      body: abort,
      reply: object({ success: flag, done: flag }),
      example: { genkey: 'KCPP1234' },
    },
    'POST /api/extra/tokencount': {
      title: 'The tokens of a text',
      body: { name: 'KoboldTokenCountRequest', schema: object({ prompt: text, special: flag.optional() }) },
      reply: object({ value: number, ids: numbers }),
      example: { prompt: 'Good morning.' },
    },
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

const lmStudioModel = named(
  'LmStudioModel',
  object({
    id: text,
    object: is('model'),
    type: oneOf(['llm', 'vlm', 'embeddings']),
    publisher: text,
    arch: text,
    compatibility_type: text.optional(),
    quantization: text,
    state: oneOf(['loaded', 'not-loaded']),
    max_context_length: number.optional(),
    loaded_context_length: number.optional(),
    capabilities: texts,
  }),
)
export const otherLists: Chapter = {
  tag: 'LM Studio and text-generation-webui',
  about: 'Their lists of models and their counts of tokens',
  operations: {
    'GET /api/v0/models': { title: 'The models', reply: object({ object: is('list'), data: list(lmStudioModel) }) },
    'GET /api/v0/models/{id}': { title: 'A model', reply: lmStudioModel },
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

const abilities = {
  is_vision: flag,
  is_gguf: flag,
  is_audio: flag,
  audio_type: text.nullable(),
  has_audio_input: flag,
  inference: anyObject,
  requires_trust_remote_code: flag,
  context_length: number.nullable(),
  max_context_length: number.nullable(),
  native_context_length: number.nullable(),
  supports_reasoning: flag,
  reasoning_style: text.nullable(),
  reasoning_always_on: flag,
  supports_preserve_thinking: flag,
  supports_tools: flag,
  speculative_type: text.nullable(),
}
const identity = { display_name: text, is_lora: flag }

export const unsloth: Chapter = {
  tag: 'Unsloth Studio',
  about: 'Loading models, what runs, its own stream, and speech',
  operations: {
    'POST /api/inference/load': {
      title: 'Unsloth: load a model',
      body: { name: 'UnslothLoadRequest', schema: loadSchema, fields: loadFields },
      reply: object({
        status: oneOf(['loaded', 'already_loaded']),
        model: text,
        ...identity,
        ...abilities,
        chat_template: text.nullable(),
        cache_type_kv: text.nullable(),
        settings: anyObject,
      }),
      example: { model_path: 'MODEL' },
    },
    'POST /api/inference/validate': {
      title: 'Unsloth: find a model',
      body: { name: 'UnslothValidateRequest', schema: validateSchema, fields: validateFields },
      reply: object({
        valid: flag,
        message: text,
        identifier: text,
        ...identity,
        is_gguf: flag,
        is_vision: flag,
        requires_trust_remote_code: flag,
        gguf_variant: text.nullable(),
      }),
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
      reply: object({
        active_model: text.nullable(),
        gguf_variant: text.nullable(),
        loading: texts,
        loaded: texts,
        models: list(anyObject),
        ...object(abilities).partial().shape,
        is_gguf: flag,
      }),
    },
    'GET /api/inference/load-progress': {
      title: 'How far a load is',
      reply: object({
        phase: text.nullable(),
        bytes_loaded: number,
        bytes_total: number,
        fraction: number,
        model: text.optional(),
      }),
    },
    'GET /api/inference/active-generations': {
      title: 'What generates for the caller',
      reply: object({ count: number, thread_ids: texts, active: list(anyObject), parallel_slots: number }),
    },
    'POST /api/inference/generate/stream': {
      title: 'Unsloth: generate',
      body: {
        name: 'UnslothGenerateRequest',
        schema: generateSchema,
        fields: [...generateFields, ...cancelFields],
        filledIn: ['model'],
      },
      stream: sse(object({ content: text.optional(), error: text.optional() })),
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
      reply: object({
        id: text,
        object: text,
        created: number,
        model: text,
        audio: object({ data: text, format: text, sample_rate: number }),
        choices: list(anyObject),
      }),
      example: { messages },
    },
  },
}
