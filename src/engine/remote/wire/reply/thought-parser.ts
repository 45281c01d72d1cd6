import { functionTools } from '../../../../canonical/callable-tools.ts'
import type { OutputFormat } from '../../../../contract/output-format.ts'
import { createOutputParser, type OutputParser } from '../../../../model-text/parse/output-parser.ts'
import type { SentRequest } from '../../servers/check-upstream.ts'
import type { Protocol } from '../../servers/profile.ts'
import { usualTags } from './reply-format.ts'

/** How a reply is read, where the text alone does not do. */
export function readingFields(
  { stop, prompt }: SentRequest,
  protocol: Protocol,
  outputFormat: OutputFormat | undefined,
): Pick<SentRequest, 'outputFormat' | 'readsThoughts'> {
  if (outputFormat === undefined) return {}
  const hasTools = prompt.type === 'chat' && (prompt.tools.length > 0 || prompt.otherTools !== undefined)
  const readsThoughts = hasTools && protocol === 'chat' && outputFormat.callsInReasoning === true
  return {
    ...((stop.length > 0 || readsThoughts) && { outputFormat }),
    ...(readsThoughts && { readsThoughts }),
  }
}

/** Reads calls out of the reasoning that a server has divided from the answer, where the operator wants them made. */
export function thoughtParser({ readsThoughts, outputFormat, ...request }: SentRequest): OutputParser | undefined {
  if (readsThoughts !== true || outputFormat === undefined || request.prompt.type !== 'chat') return undefined
  const { toolChoice, parallelToolCalls } = request
  return createOutputParser({
    format: { reasoning: usualTags, ...outputFormat, startsInReasoning: true },
    tools: functionTools(request.prompt.tools),
    otherTools: request.prompt.otherTools,
    toolChoice,
    parallelToolCalls,
  })
}
