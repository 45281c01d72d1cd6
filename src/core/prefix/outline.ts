import { listedTools } from '../../canonical/callable-tools.ts'
import { bytesOf } from '../../contract/media.ts'
import type { ChatPrompt, ContentPart, GenerationRequest, Message, OutputPart } from '../../contract/request.ts'
import type { ChangedPart } from '../../contract/usage.ts'

/** `id`: of a call, or of the call that a result answers. */
export type OutlinePart = { readonly type: ChangedPart; readonly text: string; readonly id?: string }
export type OutlineMessage = { readonly role: Message['role']; readonly name: string; readonly parts: readonly OutlinePart[] }
type OutlineTool = { readonly name: string; readonly json: string }

/** The parts of a request that a template may print, as texts: those of the request itself, so that an outline costs little. */
export type Outline = {
  readonly tools: readonly OutlineTool[]
  /** By the path in the request, in a fixed order. */
  readonly settings: Readonly<Record<string, string>>
  readonly messages: readonly OutlineMessage[]
}

/** The parts of a request that decide how its prompt begins. */
export type PromptOf = { readonly prompt: ChatPrompt } & Partial<Pick<GenerationRequest, 'reasoning' | 'toolChoice'>>

export function outlineOf({ prompt, reasoning = {}, toolChoice }: PromptOf): Outline {
  const { effort, enabled, preserve } = reasoning
  const { template, templateVariables: variables } = prompt
  const settings: Record<string, string> = {}
  const set = (path: string, value: unknown) => {
    if (value !== undefined) settings[path] = JSON.stringify(value)
  }
  set('reasoning.enabled', enabled)
  set('reasoning.effort', effort)
  set('reasoning.preserve', preserve)
  set('prompt.template', template)
  for (const name of Object.keys(variables).sort()) set(`prompt.templateVariables.${name}`, variables[name])
  // Templates are given no tools then.
  if (toolChoice?.type === 'none' && prompt.tools.length > 0) set('toolChoice', 'none')
  return {
    tools: listedTools(prompt.tools).map((tool) => ({ name: tool.name, json: JSON.stringify(tool) })),
    settings,
    messages: prompt.messages.map(outlineMessage),
  }
}

function outlineMessage(message: Message): OutlineMessage {
  const { role, name = '' } = message
  if (message.role === 'assistant') return { role, name, parts: message.parts.map(outlinePart) }
  if (message.role !== 'tool') return { role, name, parts: message.content.map(outlinePart) }
  const id = message.toolCallId
  const parts = message.content.map((part) => {
    const { type, text } = outlinePart(part)
    return { type: type === 'text' ? ('tool-result' as const) : type, text, id }
  })
  return { role, name, parts: parts.length > 0 ? parts : [{ type: 'tool-result', text: '', id }] }
}

function outlinePart(part: ContentPart | OutputPart): OutlinePart {
  switch (part.type) {
    case 'text':
    case 'refusal':
    case 'reasoning':
      return { type: part.type, text: part.text }
    case 'tool-call':
      return { type: part.type, text: `${part.name} ${part.input}`, id: part.id }
    case 'tool-result':
      return { type: part.type, text: part.content.map((inner) => outlinePart(inner).text).join('\n'), id: part.toolCallId }
    case 'media': {
      const { mediaType, width, height, sizeBytes, sha256 } = bytesOf(part)
      const size = width === undefined ? '' : `, ${width} × ${height}`
      return { type: part.kind, text: `${mediaType}${size}, ${sizeBytes} bytes, sha256 ${sha256.slice(0, 16)}` }
    }
  }
}
