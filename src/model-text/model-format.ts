import type { OutputFormat } from '../contract/output-format.ts'
import type { Prompt } from '../contract/request.ts'
import { recogniseReasoning } from './formats/recognise-reasoning.ts'
import { recogniseToolFormat } from './formats/recognise-tool-format.ts'
import { visibleTokens } from './formats/tool-formats.ts'
import type { RenderedPrompt } from './template/chat-template.ts'

/** How a model writes its calls and its reasoning, in all requests. */
export type ModelFormat = Pick<OutputFormat, 'toolFormat' | 'reasoning'>

/** Recognises a model's format by its chat template. `override` names the tool format if the template misleads. */
export function recogniseFormat(template: string | undefined, override = 'auto'): ModelFormat {
  if (template === undefined) return override === 'auto' ? {} : { toolFormat: override }
  const reasoning = recogniseReasoning(template)
  return {
    toolFormat: override === 'auto' ? recogniseToolFormat(template) : override,
    ...(reasoning !== undefined && { reasoning }),
  }
}

/** Texts of special tokens that the raw text must contain for this format to be read. */
export function visibleTexts({ toolFormat, reasoning }: ModelFormat): ReadonlySet<string> {
  const tags = reasoning === undefined ? [] : [reasoning.open.trim(), reasoning.close.trim()]
  return new Set([...tags, ...(toolFormat === undefined ? [] : visibleTokens(toolFormat))])
}

/** Where a prompt ends: inside reasoning (`open`); after it or within the answer (`closed`); or where reasoning may begin. */
export type ReasoningAtEnd = 'open' | 'closed' | 'untouched'

/** Where a rendered prompt ends. */
export function reasoningAtEnd(
  { traced, startsInReasoning }: RenderedPrompt,
  { start, responsePrefix }: Pick<Extract<Prompt, { type: 'chat' }>, 'start' | 'responsePrefix'>,
  tags: ModelFormat['reasoning'],
): ReasoningAtEnd {
  if (startsInReasoning) return 'open'
  if (start === 'last-message' || responsePrefix !== '') return 'closed'
  return tags !== undefined && traced.trimEnd().endsWith(tags.close.trim()) ? 'closed' : 'untouched'
}

/** How to read the output for one prompt; undefined when all of it is text, as in continuations of plain text. */
export function requestFormat(format: ModelFormat, prompt: Prompt, startsInReasoning: boolean): OutputFormat | undefined {
  if (prompt.type !== 'chat') return undefined
  const { toolFormat = format.toolFormat } = prompt
  if (toolFormat === undefined && format.reasoning === undefined) return undefined
  return { ...format, ...(toolFormat !== undefined && { toolFormat }), startsInReasoning }
}
