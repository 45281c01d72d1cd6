import { AppError } from '../../core/errors.ts'
import { type GenerationRequest, plainChat, plainRequest } from '../../core/request.ts'
import { indexFields, listIgnored, refuseUnsupported } from '../field-table.ts'
import { validate } from '../validate.ts'
import { checkNested } from './check-nested.ts'
import { decodeMessages } from './decode-messages.ts'
import { decodeSampling } from './decode-sampling.ts'
import { chatFields } from './fields.ts'
import { chatRequestSchema, type WireRequest } from './schema.ts'
import { pickSpelling } from './spelling.ts'

const fieldIndex = indexFields(chatFields)

/** A chat completion request in canonical form, with how to answer it. */
export type DecodedChat = {
  readonly request: GenerationRequest
  readonly stream: boolean
  readonly includeUsage: boolean
  readonly ignored: readonly string[]
}

/** Throws `invalid-request` or `unsupported-field`, with `param`, for a body that Dragoman cannot honour whole. */
export function decodeChat(body: unknown, requestId: string): DecodedChat {
  const wire = validate(chatRequestSchema, body)
  refuseUnsupported(fieldIndex, wire)
  const ignoredInside = checkNested(wire)
  const stream = wire.stream ?? false
  const maxOutputTokens = pickSpelling(wire, ['max_completion_tokens', 'max_tokens', 'max_length'])
  return {
    request: {
      ...plainRequest,
      id: requestId,
      model: wire.model,
      prompt: { type: 'chat', messages: decodeMessages(wire.messages), ...plainChat },
      sampling: decodeSampling(wire),
      ...(maxOutputTokens !== undefined && { maxOutputTokens }),
      stop: decodeStop(pickSpelling(wire, ['stop', 'stop_sequence'])),
      ignoreEos: pickSpelling(wire, ['ignore_eos', 'ban_eos_token']) ?? false,
    },
    stream,
    includeUsage: decodeIncludeUsage(wire.stream_options, stream),
    ignored: [...listIgnored(fieldIndex, wire), ...ignoredInside],
  }
}

function decodeStop(stop: string | readonly string[] | undefined): readonly string[] {
  return typeof stop === 'string' ? [stop] : (stop ?? [])
}

function decodeIncludeUsage(options: WireRequest['stream_options'], stream: boolean): boolean {
  if (options === undefined || options === null) return false
  if (!stream) {
    throw new AppError('invalid-request', 'stream_options is only allowed when stream is true: leave it out', {
      param: 'stream_options',
    })
  }
  if (options.include_obfuscation) {
    throw new AppError(
      'unsupported-field',
      'stream_options.include_obfuscation true is not supported: send false or leave it out',
      {
        param: 'stream_options.include_obfuscation',
      },
    )
  }
  return options.include_usage ?? false
}
