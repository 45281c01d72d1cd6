import type { CanonicalPath } from '../../contract/field.ts'
import { budgetMessageSpellings, budgetSpellings } from '../openai/common-fields.ts'
import { commonNames, nameOutput } from '../openai/field-names.ts'
import { type FieldNames, formatRest, nameField } from '../wire/field-names.ts'
import { type MessagePaths, nameMessage } from '../wire/message-paths.ts'
import { nameInMcpServer, readMcpServers } from '../wire/server-tools/mcp-servers.ts'
import type { ChatWire } from './schema.ts'

const chatNames: FieldNames = {
  ...commonNames,
  prompt: ['messages'],
  'prompt.messages': ['messages'],
  'prompt.tools': ['tools', 'functions'],
  'prompt.template': ['prompt_template'],
  'prompt.templateVariables': ['template_vars', 'chat_template_kwargs'],
  'prompt.templateVariables.verbosity': ['verbosity'],
  'prompt.start': ['continue_final_message', 'add_generation_prompt'],
  'prompt.responsePrefix': ['response_prefix'],
  toolUse: ['enable_tools'],
  'toolUse.names': ['enabled_tools'],
  toolChoice: ['tool_choice', 'function_call'],
  parallelToolCalls: ['parallel_tool_calls'],
  'reasoning.enabled': ['enable_thinking', 'thinking', 'reasoning'],
  'reasoning.effort': ['reasoning_effort', 'reasoning'],
  'reasoning.budgetTokens': [...budgetSpellings, 'thinking', 'reasoning'],
  'reasoning.budgetMessage': budgetMessageSpellings,
  'reasoning.preserve': ['preserve_thinking'],
}

type Named = {
  readonly path: CanonicalPath
  readonly outputField: string
  readonly paths: readonly MessagePaths[]
}

export function nameChatField(wire: ChatWire, { path, outputField, paths }: Named): string {
  const [root, second, index] = path
  if (root === 'output') return nameOutput(outputField, path)
  if (root === 'toolUse' && second === 'mcpServers') {
    return nameInMcpServer(readMcpServers(wire.mcp_servers)[Number(index)]?.path, path)
  }
  const message = nameMessage(wire, paths, path)
  if (message !== undefined) return message
  if (root === 'prompt' && second === 'tools' && typeof index === 'number') {
    const tool = wire.tools?.[index]
    if (tool?.type === 'custom') return nameInCustom(`tools[${index}].custom`, path.slice(3))
    const base = tool === undefined ? `functions[${index}]` : `tools[${index}].function`
    return base + formatRest(path.slice(3))
  }
  return nameField(chatNames, wire, path)
}

function nameInCustom(base: string, path: CanonicalPath): string {
  return path[0] === 'grammar' ? `${base}.format${formatRest(path)}` : base + formatRest(path)
}
