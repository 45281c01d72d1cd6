import { mergeSampling } from '../../canonical/merge-sampling.ts'
import type { GenerationRequest } from '../../contract/request.ts'
import type { Sampling } from '../../contract/sampling.ts'
import type { SamplingPreset } from '../../contract/server/sampling-preset.ts'

/**
 * Applies a preset to a request. Per field: forced, else the request's own plus additions, else the default. Preset values were
 * validated by the same schema as a request's, so the result is valid.
 */
export function applyPreset(request: GenerationRequest, { defaults, forced, added }: SamplingPreset): GenerationRequest {
  const { maxOutputTokens: asked, isMaxOutputAssumed, ...rest } = request
  const sent = isMaxOutputAssumed === true ? undefined : asked
  // A request that only reads the prompt must not generate.
  const isOnlyRead = request.promptTokens !== undefined && asked === 0
  const certain = isOnlyRead ? 0 : (forced.maxOutputTokens ?? sent)
  const maxOutputTokens = certain ?? defaults.maxOutputTokens ?? asked
  // An empty list means the same as an absent one.
  const stop = request.stop.length === 0 && added.stop.length === 0 ? (defaults.stop ?? []) : [...added.stop, ...request.stop]
  return {
    ...rest,
    sampling: mergeSampling(defaults.sampling, addBreakers(request.sampling, added.sequenceBreakers), forced.sampling),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    // A default gives way to the context, unlike a limit that was sent.
    ...(maxOutputTokens !== undefined && certain === undefined && { isMaxOutputAssumed: true as const }),
    stop: forced.stop ?? stop,
    ignoreEos: forced.ignoreEos ?? request.ignoreEos,
  }
}

function addBreakers(sampling: Sampling, breakers: readonly string[]): Sampling {
  if (breakers.length === 0) return sampling
  return { ...sampling, dry: { ...sampling.dry, sequenceBreakers: [...breakers, ...(sampling.dry?.sequenceBreakers ?? [])] } }
}
