import { callableTools, enforcedTools } from '../../../../canonical/callable-tools.ts'
import { field } from '../../../../contract/field.ts'
import type { FunctionTool, GenerationRequest, JsonObject } from '../../../../contract/request.ts'
import type { GrammarRequest } from '../../../../grammar/compile-output.ts'
import { writtenArguments } from '../../../../model-text/formats/json-calls.ts'
import type { Profile } from '../../servers/profile.ts'

/**
 * Whether our grammar enforces the required call. A llama-server refuses a grammar beside tools, and its own enforcement fails for some
 * models. So it gets the tools as a template variable, with the grammar of one call as JSON, provided that it can be trusted with a grammar
 * that only we know.
 */
export function callsByGrammar(
  { prompt, toolChoice }: Pick<GenerationRequest, 'prompt' | 'toolChoice'>,
  profile: Profile,
): boolean {
  if (profile.takesOurGrammars !== true || profile.gbnf === undefined || prompt.type !== 'chat') return false
  // The prompt shows another format, which the model would follow.
  if (prompt.toolFormat !== undefined || toolChoice.type !== 'required') return false
  const tools = callableTools(prompt.tools, toolChoice)
  return tools.some(({ enforced }) => enforced !== undefined || toolChoice.isRepeated === true)
}

/** The grammar of one call. `anyArguments`: for parameters that have no grammar. */
export function callGrammar(
  { prompt, toolChoice }: GenerationRequest,
  { anyArguments }: { readonly anyArguments: boolean },
): GrammarRequest {
  const tools = prompt.type === 'chat' ? enforcedTools(callableTools(prompt.tools, toolChoice)) : []
  const schema = { anyOf: tools.map((tool) => callSchema(tool, anyArguments)) }
  return { output: { type: 'json-schema', schema, strict: false, name: 'call' }, param: field('prompt', 'tools') }
}

function callSchema({ name, parameters }: FunctionTool, anyArguments: boolean): JsonObject {
  // A reference would point to another place of the larger schema.
  const isOpen = anyArguments || parameters === undefined || JSON.stringify(parameters).includes('"$ref"')
  return {
    type: 'object',
    properties: { name: { const: name }, arguments: isOpen ? { type: 'object' } : writtenArguments({ parameters }) },
    required: ['name', 'arguments'],
    additionalProperties: false,
  }
}
