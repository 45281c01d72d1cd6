import { z } from 'zod'
import { toolParameters } from '../openai/tool-parameters.ts'
import { list, looseObject } from '../wire/first-fault.ts'
import { flag, text } from '../wire/wire-types.ts'

const toolName = z.string().regex(/^[a-zA-Z0-9_.-]{1,64}$/, {
  error: "a tool name of 1 to 64 letters, digits, '_', '-' and '.'",
})

export const toolFunction = looseObject({
  name: toolName,
  description: text,
  parameters: toolParameters.nullish(),
  strict: flag,
})

const textFormat = looseObject({ type: z.literal('text') })
const grammar = looseObject({ definition: z.string(), syntax: z.enum(['lark', 'regex']) })
const grammarFormat = looseObject({ type: z.literal('grammar'), grammar })
const customTool = looseObject({
  name: toolName,
  description: text,
  format: z.discriminatedUnion('type', [textFormat, grammarFormat]).nullish(),
})
export const tool = looseObject({ type: text, function: toolFunction.nullish(), custom: customTool.nullish() })

const named = looseObject({ name: z.string() })
const allowedTool = looseObject({ type: text, function: named.nullish(), custom: named.nullish() })

const namedChoice = looseObject({ type: z.literal('function'), function: named })
const customChoice = looseObject({ type: z.literal('custom'), custom: named })
const allowedTools = looseObject({
  mode: z.enum(['auto', 'required']),
  tools: list(allowedTool).min(1, { error: 'at least one tool' }),
})
const allowedChoice = looseObject({ type: z.literal('allowed_tools'), allowed_tools: allowedTools })

export const toolChoice = z.union([
  // `any` is Mistral's.
  z.enum(['auto', 'none', 'required', 'any']),
  z.discriminatedUnion('type', [namedChoice, allowedChoice, customChoice]),
])
export const toolFunctionChoice = z.union([z.enum(['auto', 'none']), named])

/** Each kind of object that declares or chooses tools. */
export type WireTool = z.output<typeof tool>
export type WireFunction = z.output<typeof toolFunction>
export type WireCustom = z.output<typeof customTool>
export type WireAllowedTools = z.output<typeof allowedTools>
