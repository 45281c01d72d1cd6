import { AppError } from '../../contract/errors.ts'
import { field } from '../../contract/field.ts'
import type { ChatPrompt, CustomTool, Message, Tool } from '../../contract/request.ts'
import { functionCallOf, functionOf } from './function-of.ts'

/**
 * The prompt with a function for each custom tool, and a function call for each earlier custom call; all stay at their index. Throws
 * `invalid-request` where a custom tool has the name of another tool.
 */
export function asFunctions(prompt: ChatPrompt): ChatPrompt {
  const { tools, messages } = prompt
  const hasTools = tools.some(isCustomTool)
  const hasCalls = messages.some(hasCustomCall)
  if (!hasTools && !hasCalls) return prompt
  if (hasTools) refuseSharedNames(tools)
  return {
    ...prompt,
    tools: hasTools ? tools.map((tool) => (isCustomTool(tool) ? functionOf(tool) : tool)) : tools,
    messages: hasCalls ? messages.map(withFunctionCalls) : messages,
  }
}

export function isCustomTool(tool: Tool): tool is CustomTool {
  return tool.type === 'custom'
}

/** A call refers to its tool only by name. */
function refuseSharedNames(tools: readonly Tool[]): void {
  const first = new Map<string, number>()
  for (const [index, { name }] of tools.entries()) {
    const other = first.get(name)
    if (other === undefined) {
      first.set(name, index)
      continue
    }
    const message = `${field('prompt', 'tools', index)} has the name '${name}' of ${field('prompt', 'tools', other)}; rename one of them`
    throw new AppError('invalid-request', message, { at: ['prompt', 'tools', index, 'name'] })
  }
}

function hasCustomCall(message: Message): boolean {
  return message.role === 'assistant' && message.parts.some((part) => part.type === 'tool-call' && part.kind === 'custom')
}

function withFunctionCalls(message: Message): Message {
  if (message.role !== 'assistant' || !hasCustomCall(message)) return message
  const parts = message.parts.map((part) => (part.type === 'tool-call' && part.kind === 'custom' ? functionCallOf(part) : part))
  return { ...message, parts }
}
