import { mergeSampling } from '../contract/merge-sampling.ts'
import type { GenerationRequest, Sampling } from '../contract/request.ts'
import type { SamplingPreset } from '../contract/sampling-preset.ts'

/**
 * The request as it is generated under a preset: forced, else added to, else as it was sent, else the default. Every value in
 * it was validated by the same schema as a request's, field by field, so that the result is as valid as both.
 */
export function applyPreset(request: GenerationRequest, { defaults, forced, added }: SamplingPreset): GenerationRequest {
  const { maxOutputTokens: asked, isMaxOutputAssumed, ...rest } = request
  const sent = isMaxOutputAssumed === true ? undefined : asked
  // Nothing is to be written where only the prompt's own tokens are asked about.
  const isOnlyRead = request.promptTokens !== undefined && asked === 0
  const maxOutputTokens = isOnlyRead ? 0 : (forced.maxOutputTokens ?? sent ?? defaults.maxOutputTokens ?? asked)
  // An empty list asks for nothing, as an absent one does.
  const stop = request.stop.length === 0 && added.stop.length === 0 ? (defaults.stop ?? []) : [...added.stop, ...request.stop]
  return {
    ...rest,
    sampling: mergeSampling(defaults.sampling, addBreakers(request.sampling, added.sequenceBreakers), forced.sampling),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    stop: forced.stop ?? stop,
    ignoreEos: forced.ignoreEos ?? request.ignoreEos,
  }
}

function addBreakers(sampling: Sampling, breakers: readonly string[]): Sampling {
  if (breakers.length === 0) return sampling
  return { ...sampling, dry: { ...sampling.dry, sequenceBreakers: [...breakers, ...(sampling.dry?.sequenceBreakers ?? [])] } }
}
