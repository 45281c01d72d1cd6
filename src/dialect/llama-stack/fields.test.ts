import { describe } from 'vitest'
import { type FieldTableCase, testFieldTable } from '../../../test/support/field-table-suite.ts'
import { stackDialects } from './dialects.ts'
import { batchChatFields, batchCompletionFields, chatFields, completionFields } from './fields.ts'
import { batchChatSchema, batchCompletionSchema, chatSchema, completionSchema } from './schema.ts'

/** The properties of llama-stack-client 0.2.23, in its types of these requests. */
const common = ['model_id', 'sampling_params', 'response_format', 'logprobs']
const aboutTools = ['tools', 'tool_config']

const commonSamples = {
  model_id: 'another',
  sampling_params: { max_tokens: 7 },
  response_format: { type: 'json_schema', json_schema: { type: 'object' } },
  logprobs: { top_k: 2 },
  cancel_id: 'run-1',
  session_id: 'session-1',
  max_tokens: 7,
  repetition_penalty: 1.5,
  stop: ['END'],
  temperature: 0.5,
}
const tools = [{ tool_name: 'g' }]
const toolSamples = {
  tools,
  tool_choice: 'required',
  tool_prompt_format: 'json',
  tool_config: { tool_choice: 'none' },
}
/** The tools of a server, as `/v1/inference` names them. */
const toolgroups = ['builtin::websearch']
const companions = { tool_choice: { tools }, tool_prompt_format: { tools } }
const hi = { role: 'user', content: 'hi' }
const bye = { role: 'user', content: 'bye' }

const cases: readonly (readonly [name: string, tested: FieldTableCase])[] = [
  [
    'chat completion',
    {
      dialect: stackDialects.chat,
      fields: chatFields,
      base: { model_id: 'm', messages: [hi] },
      properties: ['messages', 'stream', 'tool_choice', 'tool_prompt_format', ...common, ...aboutTools],
      schemaKeys: Object.keys(chatSchema.shape),
      samples: { messages: [bye], stream: true, ...commonSamples, ...toolSamples, toolgroups },
      companions,
      required: ['model_id', 'messages'],
    },
  ],
  [
    'completion',
    {
      dialect: stackDialects.completion,
      fields: completionFields,
      base: { model_id: 'm', content: 'hi' },
      properties: ['content', 'stream', ...common],
      schemaKeys: Object.keys(completionSchema.shape),
      samples: { content: 'bye', stream: true, ...commonSamples },
      companions: {},
      required: ['model_id', 'content'],
    },
  ],
  [
    'batch of chat completions',
    {
      dialect: stackDialects.batchChat,
      fields: batchChatFields,
      base: { model_id: 'm', messages_batch: [[hi]] },
      properties: ['messages_batch', ...common, ...aboutTools],
      schemaKeys: Object.keys(batchChatSchema.shape),
      samples: { messages_batch: [[hi], [bye]], ...commonSamples, ...toolSamples, toolgroups },
      companions,
      required: ['model_id', 'messages_batch'],
    },
  ],
  [
    'batch of completions',
    {
      dialect: stackDialects.batchCompletion,
      fields: batchCompletionFields,
      base: { model_id: 'm', content_batch: ['hi'] },
      properties: ['content_batch', ...common],
      schemaKeys: Object.keys(batchCompletionSchema.shape),
      samples: { content_batch: ['hi', 'bye'], ...commonSamples },
      companions: {},
      required: ['model_id', 'content_batch'],
    },
  ],
]

describe.each(cases)('%s', (_, tested) => {
  testFieldTable(tested)
})
