import { z } from 'zod'
import { toolParameters } from '../openai/tool-parameters.ts'
import { list, looseObject } from '../wire/first-fault.ts'
import { flag, text } from '../wire/wire-types.ts'

const toolName = z.string().regex(/^[a-zA-Z0-9_.-]{1,64}$/, {
  error: "a function name of 1 to 64 letters, digits, '_', '-' and '.'",
})

export const toolFunction = looseObject({
  name: toolName,
  description: text,
  parameters: toolParameters.nullish(),
  strict: flag,
})
export const tool = looseObject({ type: text, function: toolFunction.nullish() })

export const functionName = looseObject({ name: z.string() })
export const allowedTool = looseObject({ type: text, function: functionName.nullish() })

export const namedChoice = looseObject({ type: z.literal('function'), function: functionName })
export const allowedTools = looseObject({
  mode: z.enum(['auto', 'required']),
  tools: list(allowedTool).min(1, { error: 'at least one tool' }),
})
export const allowedChoice = looseObject({ type: z.literal('allowed_tools'), allowed_tools: allowedTools })
const customChoice = looseObject({ type: z.literal('custom') })

export const toolChoice = z.union([
  z.enum(['auto', 'none', 'required']),
  z.discriminatedUnion('type', [namedChoice, allowedChoice, customChoice]),
])
export const toolFunctionChoice = z.union([z.enum(['auto', 'none']), functionName])

/** Each kind of object that declares or chooses tools. */
export type WireTool = z.output<typeof tool>
export type WireFunction = z.output<typeof toolFunction>
export type WireAllowedTools = z.output<typeof allowedTools>
