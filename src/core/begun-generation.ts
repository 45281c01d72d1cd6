import type { RequestContext } from '../contract/context.ts'
import type { GenerationRequest } from '../contract/request.ts'
import type { BegunGeneration } from '../contract/tracing.ts'

/** A generation as its span shows it. */
export function begunGeneration(request: GenerationRequest, { session }: RequestContext): BegunGeneration {
  const { sampling, choices, output, reasoning, maxOutputTokens, isMaxOutputAssumed } = request
  return {
    sampling,
    choices,
    form: forms[output.type],
    effort: reasoning.effort,
    maxOutputTokens: isMaxOutputAssumed === true ? undefined : maxOutputTokens,
    session,
  }
}

const forms: Readonly<Record<GenerationRequest['output']['type'], BegunGeneration['form']>> = {
  text: undefined,
  'json-object': 'json',
  'json-schema': 'json',
  regex: 'text',
  gbnf: 'text',
  tagged: 'text',
}
