import type { DecodedCall, Dialect } from '../../../src/contract/dialect.ts'
import type { GenerationRequest } from '../../../src/contract/request.ts'
import { createAnthropicMessages } from '../../../src/dialect/anthropic/dialect.ts'
import { messageFields } from '../../../src/dialect/anthropic/fields.ts'
import { createKobold } from '../../../src/dialect/kobold/dialect.ts'
import { koboldFields } from '../../../src/dialect/kobold/fields.ts'
import { llamaCompletion, llamaInfill } from '../../../src/dialect/llama-server/dialect.ts'
import { infillFields, completionFields as llamaFields } from '../../../src/dialect/llama-server/fields.ts'
import { stackDialects } from '../../../src/dialect/llama-stack/dialects.ts'
import {
  chatFields as stackChatFields,
  completionFields as stackCompletionFields,
} from '../../../src/dialect/llama-stack/fields.ts'
import { ollamaDialects } from '../../../src/dialect/ollama/dialects.ts'
import { optionFields } from '../../../src/dialect/ollama/fields.ts'
import { createOpenaiChat } from '../../../src/dialect/openai-chat/dialect.ts'
import { chatFields } from '../../../src/dialect/openai-chat/fields.ts'
import { createOpenaiCompletions } from '../../../src/dialect/openai-completions/dialect.ts'
import { completionFields } from '../../../src/dialect/openai-completions/fields.ts'
import { decodeResponse } from '../../../src/dialect/openai-responses/decode.ts'
import { responseFields } from '../../../src/dialect/openai-responses/fields.ts'
import { unslothGenerate } from '../../../src/dialect/unsloth/dialect.ts'
import { generateFields } from '../../../src/dialect/unsloth/fields.ts'
import type { Field } from '../../../src/dialect/wire/field-table.ts'
import { plainSealer } from '../../support/plain-sealer.ts'
import type { NeutralValue } from './values.ts'

/** A protocol in front, with the fields that its bodies may have. */
export type Front = {
  readonly path: string
  readonly fields: readonly Field[]
  /** What the fields of the common table have in this protocol. */
  readonly own?: Readonly<Record<string, readonly NeutralValue[]>>
  /** `model`, unless the protocol names it otherwise. */
  readonly modelField?: string
  /** A body with these fields. */
  body(fields: Readonly<Record<string, unknown>>): object
  decode(body: object): GenerationRequest
}

const style = { reasoningFields: 'both', systemFingerprint: 'dragoman-1' } as const
const messages = [{ role: 'user', content: 'hi' }]

/** What llama-stack's own routes have in the places of common fields. */
const ofStack: Readonly<Record<string, readonly NeutralValue[]>> = {
  logprobs: [{ value: { top_k: 0 } }],
  response_format: [{ value: {} }],
  sampling_params: [{ value: {} }, { value: { max_tokens: 0, repetition_penalty: 1, stop: [] } }],
  tool_config: [{ value: {} }, { value: { tool_choice: 'auto', system_message_behavior: 'append' } }],
  toolgroups: [{ value: [] }],
}
const ofUnsloth: Readonly<Record<string, readonly NeutralValue[]>> = {
  max_new_tokens: [{ value: 2048 }],
  repetition_penalty: [{ value: 1 }],
  system_prompt: [{ value: '' }],
  temperature: [{ value: 0.6 }],
  top_k: [{ value: -1 }],
  top_p: [{ value: 0.95 }, { value: 1 }],
}

const decodeWith =
  (dialect: Dialect) =>
  (body: object): GenerationRequest => {
    const decoded = dialect.decode({ body, headers: {} }, { id: 'x' }) as DecodedCall
    return decoded.requests[0]
  }

/** The generating routes; others read their bodies with the same tables. */
export const fronts: readonly Front[] = [
  {
    path: '/v1/chat/completions',
    fields: chatFields,
    body: (fields) => ({ messages, ...fields }),
    decode: decodeWith(createOpenaiChat(style)),
  },
  {
    path: '/v1/completions',
    fields: completionFields,
    body: (fields) => ({ prompt: 'hi', ...fields }),
    decode: decodeWith(createOpenaiCompletions(style)),
  },
  {
    path: '/v1/responses',
    fields: responseFields,
    body: (fields) => ({ input: 'hi', ...fields }),
    decode: (body) => decodeResponse(body, { id: 'resp_1', createdAtMs: 0, sealer: plainSealer, history: [], items: [] }).request,
  },
  {
    path: '/v1/messages',
    fields: messageFields,
    own: { tool_choice: [{ value: { type: 'auto' } }, { value: { type: 'none' } }] },
    body: (fields) => ({ max_tokens: 9, messages, ...fields }),
    decode: decodeWith(createAnthropicMessages({ sealerOf: () => plainSealer })),
  },
  {
    path: '/api/v1/generate',
    fields: koboldFields,
    body: (fields) => ({ prompt: 'hi', ...fields }),
    decode: decodeWith(createKobold({ streams: false })),
  },
  {
    path: '/completion',
    fields: llamaFields,
    body: (fields) => ({ prompt: 'hi', ...fields }),
    decode: decodeWith(llamaCompletion),
  },
  {
    path: '/infill',
    fields: infillFields,
    body: (fields) => ({ input_prefix: 'a', input_suffix: 'b', ...fields }),
    decode: decodeWith(llamaInfill),
  },
  {
    path: '/api/chat',
    fields: optionFields,
    body: ({ model, ...options }) => ({ model, messages, stream: false, options }),
    decode: decodeWith(ollamaDialects.chat),
  },
  {
    path: '/api/generate',
    fields: optionFields,
    body: ({ model, ...options }) => ({ model, prompt: 'hi', stream: false, options }),
    decode: decodeWith(ollamaDialects.generate),
  },
  {
    path: '/v1/inference/chat-completion',
    fields: stackChatFields,
    own: ofStack,
    modelField: 'model_id',
    body: ({ model, ...fields }) => ({ model_id: model, messages, ...fields }),
    decode: decodeWith(stackDialects.chat),
  },
  {
    path: '/v1/inference/completion',
    fields: stackCompletionFields,
    own: ofStack,
    modelField: 'model_id',
    body: ({ model, ...fields }) => ({ model_id: model, content: 'hi', ...fields }),
    decode: decodeWith(stackDialects.completion),
  },
  {
    path: '/api/inference/generate/stream',
    fields: generateFields,
    own: ofUnsloth,
    body: (fields) => ({ messages, ...fields }),
    decode: decodeWith(unslothGenerate),
  },
]
