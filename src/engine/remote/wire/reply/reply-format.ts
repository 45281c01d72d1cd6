import type { OutputFormat } from '../../../../contract/output-format.ts'
import type { GenerationRequest } from '../../../../contract/request.ts'
import { recogniseFormat } from '../../../../model-text/model-format.ts'
import { type Discovery, profileOf } from '../../servers/upstream.ts'
import { callsByGrammar } from '../body/call-grammar.ts'

/** `withoutCalls`: only the reasoning is read. `byGrammar`: of the call as JSON that our grammar makes. */
type Formats = Readonly<Record<'withTools' | 'withoutTools' | 'withoutCalls' | 'byGrammar', OutputFormat>>

/**
 * The format in which a model's texts are parsed. `toolFormat`: the format of tool calls that a server left in its text; absent:
 * by the model's template, where the server reports it. The same object for the same server, because parsers cache by it.
 */
export function createReplyFormat(toolFormat: string | undefined) {
  const known = new WeakMap<Discovery, Formats>()
  return (
    { prompt, toolChoice }: Pick<GenerationRequest, 'prompt' | 'toolChoice'>,
    discovery: Discovery,
  ): OutputFormat | undefined => {
    if (prompt.type !== 'chat') return undefined
    if (discovery.protocol !== 'chat' && toolFormat === undefined && prompt.toolFormat === undefined) return undefined
    const formats = known.get(discovery) ?? formatsOf(discovery, toolFormat)
    known.set(discovery, formats)
    if (toolChoice.type === 'required' && callsByGrammar({ prompt, toolChoice }, profileOf(discovery))) return formats.byGrammar
    if (prompt.keepsCallTexts && discovery.protocol === 'chat') return formats.withoutCalls
    if (prompt.toolFormat !== undefined) return { ...formats.withTools, toolFormat: prompt.toolFormat }
    return prompt.tools.length > 0 ? formats.withTools : formats.withoutTools
  }
}

function formatsOf({ chatTemplate }: Discovery, toolFormat: string | undefined): Formats {
  // The server renders the prompt, and separates the reasoning that its template opens.
  const startsInReasoning = false
  if (chatTemplate === undefined && toolFormat === undefined) {
    // The model is unknown: nearly all use these tags.
    const withoutTools = { reasoning: { open: '<think>', close: '</think>' }, startsInReasoning }
    const withTools = { ...withoutTools, toolFormat: 'any' }
    return { withoutTools, withoutCalls: withoutTools, withTools, byGrammar: withTools }
  }
  const format = { ...recogniseFormat(chatTemplate, toolFormat), startsInReasoning }
  const { toolFormat: _, ...withoutCalls } = format
  return { withTools: format, withoutTools: format, withoutCalls, byGrammar: { ...format, toolFormat: 'any' } }
}
