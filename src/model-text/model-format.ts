import type { OutputFormat } from '../contract/output-format.ts'
import type { Prompt } from '../contract/request.ts'
import { recogniseReasoning } from './formats/recognise-reasoning.ts'
import { recogniseToolFormat } from './formats/recognise-tool-format.ts'
import { visibleTokens } from './formats/tool-formats.ts'
import type { RenderedPrompt } from './template/chat-template.ts'

type ChatPrompt = Extract<Prompt, { type: 'chat' }>

/** How a model writes its calls and its reasoning, whatever the request. */
export type ModelFormat = Pick<OutputFormat, 'toolFormat' | 'reasoning'>

/** Finds out from a model's chat template. `override` names the tool format where the template would mislead. */
export function recogniseFormat(template: string | undefined, override = 'auto'): ModelFormat {
  if (template === undefined) return override === 'auto' ? {} : { toolFormat: override }
  const reasoning = recogniseReasoning(template)
  return {
    toolFormat: override === 'auto' ? recogniseToolFormat(template) : override,
    ...(reasoning !== undefined && { reasoning }),
  }
}

/** Texts of special tokens that a reader of this format needs to see. */
export function visibleTexts({ toolFormat, reasoning }: ModelFormat): ReadonlySet<string> {
  const tags = reasoning === undefined ? [] : [reasoning.open.trim(), reasoning.close.trim()]
  return new Set([...tags, ...(toolFormat === undefined ? [] : visibleTokens(toolFormat))])
}

/** Where a prompt leaves the model: inside reasoning; behind it, or in the middle of its answer; or free to begin with it. */
export type ReasoningAtEnd = 'open' | 'closed' | 'untouched'

export function reasoningAtEnd(
  { text, startsInReasoning }: RenderedPrompt,
  { start, responsePrefix }: Pick<ChatPrompt, 'start' | 'responsePrefix'>,
  tags: ModelFormat['reasoning'],
): ReasoningAtEnd {
  if (startsInReasoning) return 'open'
  if (start === 'last-message' || responsePrefix !== '') return 'closed'
  return tags !== undefined && text.trimEnd().endsWith(tags.close.trim()) ? 'closed' : 'untouched'
}

/** How one reply is to be read. Text that a model merely continues is read for nothing. */
export function requestFormat(format: ModelFormat, prompt: Prompt, startsInReasoning: boolean): OutputFormat | undefined {
  const { toolFormat, reasoning } = format
  if (prompt.type !== 'chat' || (toolFormat === undefined && reasoning === undefined)) return undefined
  return { ...format, startsInReasoning }
}
