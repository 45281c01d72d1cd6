import { argumentsSchema, callableTools, enforcedTools } from '../../../../canonical/callable-tools.ts'
import { isContinued } from '../../../../canonical/parts.ts'
import { field } from '../../../../contract/field.ts'
import type { FunctionTool, GenerationRequest, JsonObject } from '../../../../contract/request.ts'
import type { GrammarRequest } from '../../../../grammar/compile-output.ts'
import { outputParam } from '../../../../threads/grammar-failure.ts'
import type { Profile } from '../../servers/profile.ts'

export type CallRequest = Pick<GenerationRequest, 'prompt' | 'toolChoice' | 'output'> &
  Partial<Pick<GenerationRequest, 'logprobs'>>

/**
 * Whether our grammar enforces the required call, or a call or else the output that was asked for. A llama-server refuses a grammar and
 * log-probabilities beside tools, misreads the call of a turn that it continues, and its own enforcement fails for some models. So it
 * gets the tools as a template variable, with the grammar of one call as JSON, provided that it can be trusted with a grammar that only
 * we know.
 */
export function callsByGrammar({ prompt, toolChoice, output, logprobs }: CallRequest, profile: Profile): boolean {
  if (profile.takesOurGrammars !== true || profile.gbnf === undefined || prompt.type !== 'chat') return false
  // The prompt shows another format, which the model would follow.
  if (prompt.toolFormat !== undefined || toolChoice.type === 'none') return false
  const tools = callableTools(prompt.tools, toolChoice)
  if (tools.length === 0) return false
  if (output.type !== 'text') return true
  if (toolChoice.type === 'auto') return false
  if (logprobs !== undefined || isContinued(prompt) || toolChoice.isRepeated === true) return true
  return tools.some(({ enforced }) => enforced !== undefined)
}

/** Whether the structure that was asked for has to be one grammar with the call that may come instead. */
export function callsBesideStructure({ prompt, toolChoice, output }: CallRequest, profile: Profile): boolean {
  if (profile.structuresEndCalls !== true || profile.gbnf === undefined || profile.protocol !== 'chat') return false
  if (prompt.type !== 'chat' || prompt.toolFormat !== undefined || toolChoice.type !== 'auto') return false
  // Between structural tags, there is room for calls.
  if (output.type === 'text' || output.type === 'tagged') return false
  return callableTools(prompt.tools, toolChoice).length > 0
}

/** Many models write calls between these; which template such a server has, it does not say. */
export const usualCallTags = { open: '<tool_call>\n', close: '\n</tool_call>' }

/**
 * The grammar of one call or, unless one is required, of the output that was asked for; a caller's own grammar leaves no room for a call.
 * `anyArguments`: for parameters that have no grammar.
 */
export function callGrammar(
  { prompt, toolChoice, output }: GenerationRequest,
  { anyArguments, tags }: { readonly anyArguments: boolean; readonly tags?: typeof usualCallTags },
): GrammarRequest {
  const tools = prompt.type === 'chat' ? enforcedTools(callableTools(prompt.tools, toolChoice)) : []
  const schema = { anyOf: tools.map((tool, index) => callSchema(tool, { id: `call-${index}`, anyArguments })) }
  const calls = { output: { type: 'json-schema', schema, strict: false, name: 'call' }, param: field('prompt', 'tools') } as const
  return toolChoice.type !== 'auto' || output.type === 'text'
    ? calls
    : { output, param: outputParam(output), or: { ...calls, ...(tags !== undefined && { tags }) } }
}

/** `id`: references in the parameters are to their own root, not to that of the larger schema. */
function callSchema(
  tool: FunctionTool,
  { id, anyArguments }: { readonly id: string; readonly anyArguments: boolean },
): JsonObject {
  return {
    type: 'object',
    properties: {
      name: { const: tool.name },
      arguments: anyArguments ? { type: 'object' } : { $id: id, ...argumentsSchema(tool) },
    },
    required: ['name', 'arguments'],
    additionalProperties: false,
  }
}
