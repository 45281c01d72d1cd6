import { z } from 'zod'
import { toolParameters } from '../openai/tool-parameters.ts'
import { cancelShape } from '../wire/cancel-keys.ts'
import { jsonObject, list, looseObject } from '../wire/first-fault.ts'
import { jsonSchema } from '../wire/json-schema.ts'
import { flag, integerBetween, nonEmptyText, text } from '../wire/wire-types.ts'
import { keepAlive } from './keep-alive.ts'
import { options } from './options.ts'

/** Clients write `User`, too. */
const role = z
  .string()
  .transform((name) => name.toLowerCase())
  .pipe(z.enum(['system', 'user', 'assistant', 'tool']))

const images = list(z.string(), { error: 'a list of base64 texts' }).nullish()

/** Arguments are an object; some clients send its JSON. */
const toolCall = looseObject(
  {
    id: text,
    function: looseObject(
      { name: nonEmptyText, arguments: z.union([jsonObject, z.string()], { error: 'an object' }).nullish() },
      { also: ['index'] },
    ),
  },
  { also: ['index', 'type'] },
)

const message = looseObject({
  role,
  content: text,
  thinking: text,
  images,
  tool_calls: list(toolCall, { error: 'a list of calls' }).nullish(),
  tool_name: text,
  tool_call_id: text,
})

const toolName = z.string().regex(/^[a-zA-Z0-9_.-]{1,64}$/, {
  error: "a tool name of 1 to 64 letters, digits, '_', '-' and '.'",
})
const tool = looseObject({
  type: z.literal('function').nullish(),
  function: looseObject({
    name: toolName,
    description: text,
    parameters: toolParameters.nullish(),
  }),
})

const generatingShape = {
  model: nonEmptyText,
  stream: flag,
  format: z.union([z.literal(['', 'json']), jsonSchema], { error: '"json" or a JSON Schema, as an object' }).nullish(),
  think: z
    .union([z.boolean(), z.enum(['low', 'medium', 'high', 'max'])], { error: 'true, false, "low", "medium", "high" or "max"' })
    .nullish(),
  options,
  keep_alive: keepAlive,
  logprobs: flag,
  top_logprobs: integerBetween(0, 20).nullish(),
  truncate: flag,
  shift: flag,
  ...cancelShape,
}

export const chatSchema = looseObject({
  ...generatingShape,
  messages: list(message, { error: 'a list of messages' }).nullish(),
  tools: list(tool, { error: 'a list of tools' }).nullish(),
})

export const generateSchema = looseObject({ ...generatingShape, prompt: text, system: text, images, raw: flag, suffix: text })

const input = z
  .union([z.string(), list(z.string(), { error: 'a list of strings' })], { error: 'a string or a list of strings' })
  .nullish()

export const embedSchema = looseObject({
  model: nonEmptyText,
  input,
  dimensions: integerBetween(0, 1_000_000).nullish(),
  keep_alive: keepAlive,
  truncate: flag,
  options: jsonObject.nullish(),
})

export const embeddingsSchema = looseObject({
  model: nonEmptyText,
  prompt: text,
  keep_alive: keepAlive,
  truncate: flag,
  options: jsonObject.nullish(),
})

/** Bodies that name a model: as `model`, or as `name`, as older clients do. */
export const namedSchema = looseObject({ model: text, name: text, stream: flag, insecure: flag, verbose: flag })

export type ChatWire = z.output<typeof chatSchema>
export type GenerateWire = z.output<typeof generateSchema>
export type MessageWire = z.output<typeof message>
export type ToolWire = z.output<typeof tool>
