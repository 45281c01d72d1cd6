import { functionTools } from '../../../../canonical/callable-tools.ts'
import type { OutputFormat } from '../../../../contract/output-format.ts'
import { createOutputParser, type OutputParser } from '../../../../model-text/parse/output-parser.ts'
import type { SentRequest } from '../../servers/check-upstream.ts'
import type { Protocol } from '../../servers/profile.ts'
import { usualTags } from './reply-format.ts'

/** The fields that tell how to read a reply, beyond its text. */
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

/** A parser for calls inside the reasoning that a server has separated, if the operator wants them recognised. */
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
