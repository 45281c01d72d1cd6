import { model, modelCard, modelList } from '../../dialect/openai/replies.ts'
import { presetSwitchFields } from '../../dialect/presets/fields.ts'
import { presets } from '../../dialect/presets/replies.ts'
import { presetSwitchSchema, presetUnloadSchema } from '../../dialect/presets/switch-request.ts'
import { downloadSchema } from '../../dialect/tabby/download.ts'
import {
  downloadFields,
  embeddingLoadFields,
  loraLoadFields,
  loraUnloadFields,
  modelLoadFields,
} from '../../dialect/tabby/fields.ts'
import { embeddingLoadSchema, modelLoadSchema } from '../../dialect/tabby/load.ts'
import { loraLoadSchema, loraUnloadSchema } from '../../dialect/tabby/lora.ts'
import { loras, serviceInfo } from '../../dialect/tabby/replies.ts'
import { templateSwitchFields, templateUnloadFields } from '../../dialect/templates/fields.ts'
import { templates } from '../../dialect/templates/replies.ts'
import { templateSwitchSchema, templateUnloadSchema } from '../../dialect/templates/requests.ts'
import { tokenDecodeSchema, tokenEncodeSchema } from '../../dialect/tokens/decode.ts'
import { tokenDecodeFields, tokenEncodeFields } from '../../dialect/tokens/fields.ts'
import { number, numbers, object, oneOf, text, texts } from '../../dialect/wire/json/shapes.ts'
import { type Body, type Chapter, sse } from './operation.ts'

const progress = object({
  model_type: text,
  module: number,
  modules: number,
  status: oneOf(['processing', 'finished']),
  bytes_done: number.optional(),
  bytes_total: number.optional(),
})
const done = object({})
export const encodeBody: Body = { name: 'TokenEncodeRequest', schema: tokenEncodeSchema, fields: tokenEncodeFields }
const decodeBody: Body = { name: 'TokenDecodeRequest', schema: tokenDecodeSchema, fields: tokenDecodeFields }

export const tabby: Chapter = {
  tag: 'tabbyAPI',
  about: 'Models, adapters, tokens, sampler overrides and chat templates, as tabbyAPI has them',
  operations: {
    'POST /v1/model/load': {
      title: 'tabbyAPI: load a model',
      body: { name: 'TabbyLoadRequest', schema: modelLoadSchema, fields: modelLoadFields },
      stream: sse(progress),
      example: { model_name: 'MODEL' },
    },
    'POST /v1/model/embedding/load': {
      title: 'tabbyAPI: load a model that embeds',
      body: { name: 'TabbyEmbeddingLoadRequest', schema: embeddingLoadSchema, fields: embeddingLoadFields },
      reply: progress,
      example: { embedding_model_name: 'MODEL' },
    },
    'POST /v1/model/unload': { title: 'Unload the model that was loaded last', reply: done },
    'POST /v1/model/embedding/unload': { title: 'Unload the model that was loaded to embed', reply: done },
    'POST /v1/download': {
      title: 'tabbyAPI: download a model',
      body: { name: 'TabbyDownloadRequest', schema: downloadSchema, fields: downloadFields },
      reply: object({ download_path: text }),
      example: { repo_id: 'OWNER/REPO' },
    },
    'GET /v1/model': { title: 'The card of a model', query: object({ model: text.optional() }), reply: modelCard },
    'GET /v1/model/list': { title: 'The models', also: ['/v1/model/draft/list'], reply: modelList },
    'GET /v1/model/embedding': { title: 'The model that embeds', reply: model },
    'GET /v1/model/embedding/list': { title: 'The models that embed', reply: modelList },
    'POST /v1/lora/load': {
      title: 'tabbyAPI: load LoRA adapters',
      body: { name: 'LoraLoadRequest', schema: loraLoadSchema, fields: loraLoadFields },
      reply: object({ success: texts, failure: texts }),
      example: { loras: [{ name: 'ADAPTER', scaling: 1 }] },
    },
    'POST /v1/lora/unload': {
      title: 'tabbyAPI: unload the LoRA adapters',
      body: { name: 'LoraUnloadRequest', schema: loraUnloadSchema, fields: loraUnloadFields, isOptional: true },
      reply: done,
    },
    'GET /v1/loras': { title: 'The adapters in use', also: ['/v1/lora', '/v1/lora/list'], reply: loras },
    'POST /v1/token/encode': {
      title: 'tabbyAPI: encode tokens',
      also: ['/v1/internal/encode'],
      body: encodeBody,
      reply: object({ tokens: numbers, length: number }),
      example: { text: 'Good morning.' },
    },
    'POST /v1/token/decode': {
      title: 'tabbyAPI: decode tokens',
      also: ['/v1/internal/decode'],
      body: decodeBody,
      reply: object({ text }),
      example: { tokens: [71, 111] },
    },
    'GET /v1/sampling/overrides': { title: 'The sampler overrides', also: ['/v1/sampling/override/list'], reply: presets },
    'POST /v1/sampling/override/switch': {
      title: 'tabbyAPI: switch the sampler overrides',
      body: { name: 'PresetSwitchRequest', schema: presetSwitchSchema, fields: presetSwitchFields },
      reply: presets,
      example: { overrides: { temperature: { override: 1 } } },
    },
    'POST /v1/sampling/override/unload': {
      title: 'Use no sampler overrides',
      body: { name: 'PresetUnloadRequest', schema: presetUnloadSchema, isOptional: true },
      reply: presets,
    },
    'GET /v1/templates': {
      title: 'The chat templates',
      also: ['/v1/template/list'],
      query: object({ model: text.optional() }),
      reply: templates,
    },
    'POST /v1/template/switch': {
      title: 'tabbyAPI: switch the chat template',
      body: { name: 'TemplateSwitchRequest', schema: templateSwitchSchema, fields: templateSwitchFields },
      reply: templates,
      example: { prompt_template_name: 'model' },
    },
    'POST /v1/template/unload': {
      title: 'tabbyAPI: unload the chat template',
      body: { name: 'TemplateUnloadRequest', schema: templateUnloadSchema, fields: templateUnloadFields, isOptional: true },
      reply: templates,
    },
    'GET /v1/auth/permission': { title: 'The permission of the key', reply: object({ permission: oneOf(['admin', 'api']) }) },
    'GET /.well-known/serviceinfo': {
      title: 'What this server is, and which APIs it has',
      reply: serviceInfo,
    },
  },
}
