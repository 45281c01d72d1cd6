import type { GenerationRequest, Prompt } from '../../../contract/request.ts'
import type { CompiledGrammar } from '../../../grammar/grammar-builder.ts'
import type { Profile } from '../servers/profiles.ts'
import type { Upstream } from '../servers/upstream.ts'
import type { UpstreamBody } from './chat-body.ts'
import { outputFields } from './output-fields.ts'
import { sharedFields, streamOptions, unsupported } from './sampling-fields.ts'

type PlainPrompt = Exclude<Prompt, { type: 'chat' }>

/** A text, tokens or a gap as a request for `/completions`, always streamed. Throws what the server cannot do, by name. */
export function completionBody(
  request: GenerationRequest,
  prompt: PlainPrompt,
  { profile, model }: Upstream,
  grammar?: CompiledGrammar,
): UpstreamBody {
  const { fields, structured } = outputFields(request, profile, grammar)
  const { max_completion_tokens: most, ...shared } = sharedFields(request, profile)
  if (request.logprobs !== undefined && !profile.logprobs) throw unsupported(profile, 'logprobs')
  return {
    path: '/completions',
    body: {
      model,
      ...promptFields(prompt, profile),
      stream: true,
      stream_options: streamOptions(profile),
      ...shared,
      // This protocol has the old name only, and 16 where nothing is said, at OpenAI's.
      ...(most !== undefined && { max_tokens: most }),
      ...fields,
      // The reader leaves out what was not asked for.
      ...(request.logprobs !== undefined && { logprobs: Math.max(profile.leastTop ?? 0, request.logprobs.top) }),
    },
    ...(structured !== undefined && { structured }),
  }
}

function promptFields(prompt: PlainPrompt, profile: Profile): Record<string, unknown> {
  switch (prompt.type) {
    case 'text':
      return { prompt: prompt.text }
    case 'tokens':
      return { prompt: prompt.tokens }
    case 'infill':
      if (!profile.suffix) throw unsupported(profile, 'suffix')
      return { prompt: prompt.prefix, suffix: prompt.suffix }
  }
}
