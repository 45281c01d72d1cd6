import { AppError } from '../../contract/errors.ts'
import type { GenerationRequest } from '../../contract/request.ts'
import type { CommonWire } from './common-schema.ts'
import { decodeSampling } from './decode-sampling.ts'
import { pickSpelled, pickSpelling, spellingsOf } from './spelling.ts'

type Common = Pick<
  GenerationRequest,
  'model' | 'sampling' | 'choices' | 'maxOutputTokens' | 'minOutputTokens' | 'stop' | 'ignoreEos' | 'adapter'
>

/**
 * Decodes the fields that OpenAI's generating protocols share. `assumedLimit` is the protocol's default limit on the output, if
 * it has one.
 */
export function decodeCommon(wire: CommonWire, assumedLimit?: number): Common {
  const maxOutputTokens = decodeLimit(pickSpelling(wire, spellingsOf.limit) ?? assumedLimit)
  const minOutputTokens = decodeMinimum(wire, maxOutputTokens)
  return {
    model: wire.model,
    sampling: decodeSampling(wire),
    choices: wire.n ?? 1,
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...(minOutputTokens > 0 && { minOutputTokens }),
    stop: decodeStop(wire),
    ignoreEos: pickSpelling(wire, spellingsOf.ignoreEos) ?? false,
    ...decodeAdapter(wire),
  }
}

/** Decodes the choice of an adapter; null and an empty name count as absent. */
export function decodeAdapter({ use_adapter: wanted }: Pick<CommonWire, 'use_adapter'>): Pick<GenerationRequest, 'adapter'> {
  if (wanted === undefined || wanted === null || wanted === '') return {}
  if (typeof wanted === 'string') return { adapter: { type: 'named', name: wanted } }
  return { adapter: { type: wanted ? 'loaded' : 'none' } }
}

function decodeMinimum(wire: CommonWire, maxOutputTokens: number | undefined): number {
  const minimum = pickSpelled(wire, spellingsOf.minimum)
  if (minimum === undefined) return 0
  const { name, value } = minimum
  if (maxOutputTokens === undefined || value <= maxOutputTokens) return value
  const message = `${name} ${value} is more than the limit on the output, which is ${maxOutputTokens}: lower it, or raise max_tokens`
  throw new AppError('invalid-request', message, { param: name })
}

/** Whether the stream ends with its usage; a complete reply always has it. Throws for unsupported options. */
export function decodeIncludeUsage({ stream, stream_options: options }: CommonWire): boolean {
  if (options === undefined || options === null) return false
  if (options.include_obfuscation) {
    throw new AppError(
      'unsupported-field',
      'stream_options.include_obfuscation true is not supported: send false or leave it out',
      { param: 'stream_options.include_obfuscation' },
    )
  }
  return stream === true && (options.include_usage ?? false)
}

/** The output limit; a negative one counts as absent. */
export function decodeLimit(limit: number | undefined): number | undefined {
  return limit === undefined || limit < 0 ? undefined : limit
}

export function decodeStop(wire: Pick<CommonWire, (typeof spellingsOf.stop)[number]>): readonly string[] {
  const stop = pickSpelling(wire, spellingsOf.stop)
  const sequences = typeof stop === 'string' ? [stop] : (stop ?? [])
  // An empty one would end the output before its first character.
  return sequences.flatMap((sequence) => (typeof sequence === 'string' && sequence !== '' ? [sequence] : []))
}
