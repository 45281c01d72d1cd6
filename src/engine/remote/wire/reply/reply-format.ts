import type { FormatSettings, OutputFormat } from '../../../../contract/output-format.ts'
import { recogniseFormat } from '../../../../model-text/model-format.ts'
import type { Profile } from '../../servers/profile.ts'
import { type Discovery, profileOf } from '../../servers/upstream.ts'
import { type CallRequest, callsBesideStructure, callsByGrammar } from '../body/call-grammar.ts'

/** `withoutCalls`: only the reasoning is read. `byGrammar`: of the call as JSON that our grammar enforces. */
type Formats = Readonly<Record<'withTools' | 'withoutTools' | 'withoutCalls' | 'byGrammar', OutputFormat>>

type Known = { readonly formats: Formats; readonly profile: Profile }

/**
 * The format to parse a model's texts with. The settings concern the parts that a server left in its text. Absent: recognised by the
 * model's template, if the server reports it. Returns the same object for the same server, because parsers cache by it.
 */
export function createReplyFormat(settings: FormatSettings) {
  const { toolFormat, reasoningTags } = settings
  const known = new WeakMap<Discovery, Known>()
  const knownOf = (discovery: Discovery): Known => {
    const before = known.get(discovery)
    if (before !== undefined) return before
    const made = { formats: formatsOf(discovery, settings), profile: profileOf(discovery) }
    known.set(discovery, made)
    return made
  }
  const formatOf = (request: CallRequest, discovery: Discovery): OutputFormat | undefined => {
    const { prompt } = request
    if (prompt.type !== 'chat') return undefined
    const { formats, profile } = knownOf(discovery)
    // These protocols have blocks for reasoning and calls.
    if (discovery.protocol !== 'chat' && toolFormat === undefined && prompt.toolFormat === undefined)
      return reasoningTags === undefined ? undefined : formats.withoutCalls
    if (callsByGrammar(request, profile) || callsBesideStructure(request, profile)) return formats.byGrammar
    if (prompt.keepsCallTexts && discovery.protocol === 'chat') return formats.withoutCalls
    if (prompt.toolFormat !== undefined) return { ...formats.withTools, toolFormat: prompt.toolFormat }
    return prompt.tools.length > 0 || prompt.otherTools !== undefined ? formats.withTools : formats.withoutTools
  }
  const opened = new WeakMap<OutputFormat, OutputFormat>()
  return (request: Parameters<typeof formatOf>[0], discovery: Discovery, startsInReasoning = false): OutputFormat | undefined => {
    const format = formatOf(request, discovery)
    if (format === undefined || !startsInReasoning) return format
    const inside = opened.get(format) ?? { ...format, startsInReasoning }
    opened.set(format, inside)
    return inside
  }
}

/** The tags of nearly all models. */
export const usualTags = { open: '<think>', close: '</think>\n\n' }

function formatsOf({ chatTemplate }: Discovery, settings: FormatSettings): Formats {
  // The server renders the prompt, and separates the reasoning that its template opens.
  const startsInReasoning = false
  if (chatTemplate === undefined && settings.toolFormat === undefined) {
    // The model is unknown: nearly all use these tags.
    const withoutTools = { reasoning: usualTags, ...recogniseFormat(undefined, settings), startsInReasoning }
    const withTools = { ...withoutTools, toolFormat: 'any' }
    return { withoutTools, withoutCalls: withoutTools, withTools, byGrammar: withTools }
  }
  const format = { ...recogniseFormat(chatTemplate, settings), startsInReasoning }
  const { toolFormat: _, ...withoutCalls } = format
  return { withTools: format, withoutTools: format, withoutCalls, byGrammar: { ...format, toolFormat: 'any' } }
}
