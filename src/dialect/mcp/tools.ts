import { z } from 'zod'
import type { ModelSummary } from '../../contract/server/catalogue.ts'
import { usageSchema } from '../own/queries.ts'
import { jsonObject, list } from '../wire/first-fault.ts'
import type { McpResult } from './messages.ts'

const message = z.strictObject({ role: z.enum(['system', 'user', 'assistant']), content: z.string() })

/** The arguments of the tool `chat`: those fields of a chat completion that a model writes without mistakes. */
export const chatArguments = z.strictObject({
  messages: list(message).describe('The conversation, as for chat completions of OpenAI; it ends with what the user says.'),
  model: z.string().optional().describe('A model of `list_models`; absent: the default one.'),
  max_tokens: z.int().min(1).optional().describe('The most tokens of the reply.'),
  temperature: z.number().min(0).max(2).optional(),
  response_format: jsonObject
    .optional()
    .describe('As for chat completions of OpenAI, such as {"type":"json_schema","json_schema":{"name":"a","schema":{…}}}.'),
})
export const usageArguments = z.strictObject({ from: usageSchema.shape.from, to: usageSchema.shape.to })
export const noArguments = z.strictObject({})

const reading = { readOnlyHint: true, openWorldHint: false }
const tools = [
  {
    name: 'chat',
    title: 'Ask a model',
    description: 'Asks a language model of this server, and returns its reply. It sees the messages only.',
    schema: chatArguments,
    annotations: { ...reading, openWorldHint: true },
  },
  {
    name: 'list_models',
    title: 'List the models',
    description: 'The models that the tool `chat` can ask, with the sizes of their contexts and what they read besides text.',
    schema: noArguments,
    annotations: reading,
  },
  {
    name: 'usage',
    title: 'Show the usage',
    description: 'The requests and tokens that this API key has used, by day and model, and what is left of its budgets.',
    schema: usageArguments,
    annotations: reading,
  },
] as const

export type McpToolName = (typeof tools)[number]['name']

/** The tools as a client lists them, less those that this server lacks. */
export function encodeTools(has: (name: McpToolName) => boolean): McpResult {
  const listed = tools.filter(({ name }) => has(name)).map(({ schema, ...tool }) => ({ ...tool, inputSchema: toSchema(schema) }))
  return { tools: listed, ttlMs: 0, cacheScope: 'private' }
}

export function isMcpTool(name: unknown): name is McpToolName {
  return tools.some((tool) => tool.name === name)
}

function toSchema(schema: z.ZodType): object {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io: 'input' })
  return json
}

/** The models as the tool `list_models` shows them; `chosen`: the name of the default one. */
export function encodeMcpModels(models: readonly ModelSummary[], chosen: string): object {
  return {
    models: models.map(({ id, aliases, contextLength, kind, modalities }) => ({
      id,
      ...(aliases.length > 0 && { aliases }),
      ...((id === chosen || aliases.includes(chosen)) && { default: true }),
      ...(contextLength !== undefined && { context_length: contextLength }),
      ...(kind !== undefined && { kind }),
      ...(modalities !== undefined && {
        reads: Object.keys(modalities).filter((kind) => Reflect.get(modalities, kind) === true),
      }),
    })),
  }
}

export function dataOfTool(data: object): McpResult {
  return { content: [{ type: 'text', text: JSON.stringify(data) }], structuredContent: data, isError: false }
}
