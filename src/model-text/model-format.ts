import { isContinued } from '../canonical/parts.ts'
import type { FormatSettings, OutputFormat } from '../contract/output-format.ts'
import type { Prompt } from '../contract/request.ts'
import type { ToolFormatName } from './formats/format-names.ts'
import { recogniseReasoning } from './formats/recognise-reasoning.ts'
import { recogniseToolFormat } from './formats/recognise-tool-format.ts'
import { findToolFormat, markedFormatName, visibleTokens } from './formats/tool-formats.ts'
import type { RenderedPrompt } from './template/chat-template.ts'
import { readTemplateMetadata, type TemplateMetadata } from './template/template-metadata.ts'

/** How a model writes its calls and its reasoning, in all requests. */
export type ModelFormat = Pick<OutputFormat, 'toolFormat' | 'reasoning' | 'turnEnds' | 'callsInReasoning'>

/** Recognizes a model's format by its chat template. The settings are for a misleading template. */
export function recogniseFormat(template: string | undefined, settings: FormatSettings = {}): ModelFormat {
  const { toolFormat: override = 'auto', reasoningTags, callsInReasoning } = settings
  const reasoning = tagsOf(template === undefined ? undefined : recogniseReasoning(template), reasoningTags)
  const shared = {
    ...(reasoning !== undefined && { reasoning }),
    ...(callsInReasoning !== undefined && { callsInReasoning }),
  }
  if (template === undefined) return override === 'auto' ? shared : { toolFormat: override, ...shared }
  const metadata = readTemplateMetadata(template)
  return {
    toolFormat: override === 'auto' ? toolFormatOf(template, metadata) : override,
    ...shared,
    ...(metadata.stops.length > 0 && { turnEnds: metadata.stops }),
  }
}

type Tags = ModelFormat['reasoning']

/** The tags of the settings, with the template's white space around them if it writes the same tags. */
function tagsOf(written: Tags, given: Tags): Tags {
  return given === undefined || hasTags(written, given) ? written : given
}

/** Whether these tags are the same, apart from white space. */
export function hasTags(tags: Tags, { open, close }: NonNullable<Tags>): boolean {
  return tags?.open.trim() === open.trim() && tags.close.trim() === close.trim()
}

/** The template's own declarations about its calls count; the rest is recognized, or JSON between its declared tags. */
function toolFormatOf(template: string, { callFormat, toolStart: start, toolEnd: end }: TemplateMetadata): string {
  const recognised = recogniseToolFormat(template)
  const isOwn = (name: ToolFormatName) =>
    start === undefined ||
    findToolFormat(name)
      ?.triggers([])
      .some(({ tag }) => tag === start) === true
  if (callFormat !== 'xml' && (start === undefined ? callFormat !== 'json' : isOwn(recognised))) return recognised
  const base = callFormat === 'xml' ? 'xml' : callFormat === 'auto' ? recognised : 'json'
  return start === undefined ? base : markedFormatName(base, { start, ...(end !== undefined && { end }) })
}

/** Texts of special tokens that the raw text must contain for this format to be read. */
export function visibleTexts({ toolFormat, reasoning, turnEnds = [] }: ModelFormat): ReadonlySet<string> {
  const tags = reasoning === undefined ? [] : [reasoning.open.trim(), reasoning.close.trim()]
  return new Set([...tags, ...turnEnds, ...(toolFormat === undefined ? [] : visibleTokens(toolFormat))])
}

/** Where a prompt ends: inside reasoning (`open`); after it or within the answer (`closed`); or where reasoning may begin. */
export type ReasoningAtEnd = 'open' | 'closed' | 'untouched'

/** Where a rendered prompt ends. */
export function reasoningAtEnd(
  { traced, startsInReasoning }: RenderedPrompt,
  prompt: Pick<Extract<Prompt, { type: 'chat' }>, 'start' | 'responsePrefix'>,
  tags: ModelFormat['reasoning'],
): ReasoningAtEnd {
  if (startsInReasoning) return 'open'
  if (isContinued(prompt)) return 'closed'
  return tags !== undefined && traced.trimEnd().endsWith(tags.close.trim()) ? 'closed' : 'untouched'
}

/** How to read the output for one prompt; undefined when all of it is text, as in continuations of plain text. */
export function requestFormat(format: ModelFormat, prompt: Prompt, startsInReasoning: boolean): OutputFormat | undefined {
  if (prompt.type !== 'chat') return undefined
  const { toolFormat = format.toolFormat } = prompt
  if (toolFormat === undefined && format.reasoning === undefined) return undefined
  return { ...format, ...(toolFormat !== undefined && { toolFormat }), startsInReasoning }
}
