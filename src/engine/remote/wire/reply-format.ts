import type { OutputFormat } from '../../../contract/output-format.ts'
import type { GenerationRequest } from '../../../contract/request.ts'
import { recogniseFormat } from '../../../model-text/model-format.ts'
import type { Discovery } from '../servers/upstream.ts'

type Formats = { readonly withTools: OutputFormat; readonly withoutTools: OutputFormat }

/**
 * How the texts of a model's servers are to be read. `toolFormat`: how calls look that a server left in its text; absent: as the
 * model's template says, if the server tells it. The same object for the same server, for what is made of it is kept.
 */
export function createReplyFormat(toolFormat: string | undefined) {
  const known = new WeakMap<Discovery, Formats>()
  return ({ prompt }: Pick<GenerationRequest, 'prompt'>, discovery: Discovery): OutputFormat | undefined => {
    if (prompt.type !== 'chat') return undefined
    const formats = known.get(discovery) ?? formatsOf(discovery, toolFormat)
    known.set(discovery, formats)
    return prompt.tools.length > 0 ? formats.withTools : formats.withoutTools
  }
}

function formatsOf({ chatTemplate }: Discovery, toolFormat: string | undefined): Formats {
  // The server has rendered the prompt: what its template opened, it has closed or told apart itself.
  const startsInReasoning = false
  if (chatTemplate === undefined && toolFormat === undefined) {
    // Whatever the model behind it is: these are the marks that nearly all have.
    const withoutTools = { reasoning: { open: '<think>', close: '</think>' }, startsInReasoning }
    return { withoutTools, withTools: { ...withoutTools, toolFormat: 'any' } }
  }
  const format = { ...recogniseFormat(chatTemplate, toolFormat), startsInReasoning }
  return { withTools: format, withoutTools: format }
}
