import type { CanonicalPath } from '../../contract/field.ts'
import { type FieldNames, formatRest, nameField } from '../wire/field-names.ts'
import { type MessagePaths, nameMessage } from '../wire/message-paths.ts'

const names: FieldNames = {
  model: ['model_id'],
  'prompt.messages': ['messages'],
  'prompt.tools': ['tools'],
  'prompt.toolFormat': ['tool_config.tool_prompt_format'],
  toolUse: ['toolgroups'],
  toolChoice: ['tool_config.tool_choice'],
  output: ['response_format'],
  'output.schema': ['response_format.json_schema'],
  'output.grammar': ['response_format.bnf'],
  logprobs: ['logprobs'],
  'logprobs.top': ['logprobs.top_k'],
  maxOutputTokens: ['sampling_params.max_tokens'],
  stop: ['sampling_params.stop'],
  sampling: ['sampling_params'],
  'sampling.temperature': ['sampling_params.strategy.temperature'],
  'sampling.topP': ['sampling_params.strategy.top_p'],
  'sampling.topK': ['sampling_params.strategy.top_k'],
  'sampling.repetitionPenalty': ['sampling_params.repetition_penalty'],
}

/** The client's name for a path of a request. `wire`: its body; `input`: the field of its prompt, such as `messages`. */
export function nameStackField(
  path: CanonicalPath,
  { wire, input, paths = [] }: { readonly wire: object; readonly input: string; readonly paths?: readonly MessagePaths[] },
): string {
  const [root, second, index] = path
  if (root !== 'prompt') return nameField(names, {}, path)
  if (second === 'tools' && typeof index === 'number') return `tools[${index}]${nameToolField(path.slice(3))}`
  if (second !== 'messages') return second === undefined || second === 'text' ? input : nameField(names, {}, path)
  return nameMessage(wire, paths, path) ?? input
}

function nameToolField([field, ...inside]: CanonicalPath): string {
  if (field === undefined) return ''
  return `.${field === 'name' ? 'tool_name' : field}${formatRest(inside)}`
}
