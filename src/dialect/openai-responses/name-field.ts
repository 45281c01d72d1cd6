import type { CanonicalPath } from '../../contract/field.ts'
import { budgetMessageSpellings, budgetSpellings } from '../openai/common-fields.ts'
import { commonNames, nameOutput } from '../openai/field-names.ts'
import { type FieldNames, formatRest, nameField } from '../wire/field-names.ts'
import { type MessagePaths, nameMessage } from '../wire/message-paths.ts'
import { responseLimits } from './decode-options.ts'
import type { DecodedTools } from './decode-tools.ts'

const names: FieldNames = {
  ...commonNames,
  prompt: ['input'],
  'prompt.messages': ['input'],
  'prompt.tools': ['tools'],
  'prompt.template': ['prompt_template'],
  'prompt.templateVariables': ['template_vars', 'chat_template_kwargs'],
  'prompt.templateVariables.verbosity': ['text.verbosity'],
  toolChoice: ['tool_choice'],
  parallelToolCalls: ['parallel_tool_calls'],
  reasoning: ['reasoning'],
  'reasoning.enabled': ['enable_thinking', 'reasoning.effort'],
  'reasoning.effort': ['reasoning.effort'],
  'reasoning.budgetTokens': budgetSpellings,
  'reasoning.budgetMessage': budgetMessageSpellings,
  'reasoning.preserve': ['reasoning.context'],
  maxOutputTokens: responseLimits,
  logprobs: ['top_logprobs', 'include'],
}

type Named = {
  readonly path: CanonicalPath
  readonly outputField: string
  readonly paths: readonly MessagePaths[]
  readonly tools: Pick<DecodedTools, 'paths' | 'hosted'>
}

/** The client's name for a path of a request: items and tools keep their original places. */
export function nameResponseField(wire: object, { path, outputField, paths, tools }: Named): string {
  const [root, second, index] = path
  if (root === 'output') return nameOutput(outputField, path)
  if (root === 'prompt' && second === 'messages' && index !== undefined) return nameMessage(wire, paths, path) ?? 'input'
  if (root === 'prompt' && second === 'tools' && typeof index === 'number') {
    const [member, ...inMember] = path.slice(3)
    const inTool = member === undefined ? [] : [member === 'grammar' ? 'format' : member, ...inMember]
    return (tools.paths[index] ?? `tools[${index}]`) + formatRest(inTool)
  }
  if (root === 'toolUse' && second === 'mcpServers' && typeof index === 'number') {
    const field = path[3] === 'url' ? '.server_url' : path[3] === 'label' ? '.server_label' : ''
    return (tools.hosted.pathOf(index) ?? 'tools') + field
  }
  if (root === 'toolUse') return 'tools'
  return nameField(names, wire, path)
}
