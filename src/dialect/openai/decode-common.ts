import { AppError } from '../../core/errors.ts'
import type { GenerationRequest } from '../../core/request.ts'
import type { CommonWire } from './common-schema.ts'
import { decodeSampling } from './decode-sampling.ts'
import { pickSpelling } from './spelling.ts'

type Common = Pick<GenerationRequest, 'model' | 'sampling' | 'choices' | 'maxOutputTokens' | 'stop' | 'ignoreEos'>

/** What OpenAI's generating protocols say in the same words. */
export function decodeCommon(wire: CommonWire): Common {
  const maxOutputTokens = pickSpelling(wire, ['max_completion_tokens', 'max_tokens', 'max_length'])
  return {
    model: wire.model,
    sampling: decodeSampling(wire),
    choices: wire.n ?? 1,
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    stop: decodeStop(pickSpelling(wire, ['stop', 'stop_sequence'])),
    ignoreEos: pickSpelling(wire, ['ignore_eos', 'ban_eos_token']) ?? false,
  }
}

/** Whether the stream shall end with its usage. Throws where `stream_options` asks for what cannot be. */
export function decodeIncludeUsage({ stream, stream_options: options }: CommonWire): boolean {
  if (options === undefined || options === null) return false
  if (stream !== true) {
    throw new AppError('invalid-request', 'stream_options is only allowed when stream is true: leave it out', {
      param: 'stream_options',
    })
  }
  if (options.include_obfuscation) {
    throw new AppError(
      'unsupported-field',
      'stream_options.include_obfuscation true is not supported: send false or leave it out',
      { param: 'stream_options.include_obfuscation' },
    )
  }
  return options.include_usage ?? false
}

function decodeStop(stop: string | readonly string[] | undefined): readonly string[] {
  return typeof stop === 'string' ? [stop] : (stop ?? [])
}
