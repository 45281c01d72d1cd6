import { z } from 'zod'
import { randomHex } from '../../base/random-hex.ts'
import { AppError } from '../../contract/errors.ts'
import { cancelFields, cancelShape } from '../wire/cancel-keys.ts'
import { checkFields, indexFields } from '../wire/field-table.ts'
import { list, looseObject } from '../wire/first-fault.ts'
import { validate } from '../wire/validate.ts'
import { speechFields } from './fields.ts'
import type { Speech } from './replies.ts'

const textPart = looseObject({ type: z.literal('text'), text: z.string() })
const message = looseObject({ role: z.string(), content: z.union([z.string(), z.array(textPart)]) })
export const speechSchema = looseObject({
  model: z.string().nullish(),
  messages: list(message, { error: 'an array of messages' }),
  voice: z.string().nullish(),
  speed: z.number().nullish(),
  instructions: z.string().nullish(),
  ...cancelShape,
})
const fieldIndex = indexFields([...speechFields, ...cancelFields])
/** Unsloth has no field for it, and OpenAI's route requires one. */
const defaultVoice = 'alloy'
/** Characters of the text that the reply quotes. */
const maxQuotedChars = 100

/** `POST /v1/audio/generate`: speech of the last user message, as the fields of OpenAI's route. */
export function decodeSpeech(body: unknown) {
  const wire = validate(speechSchema, body)
  const last = wire.messages.findLast(({ role }) => role === 'user')
  const text = typeof last?.content === 'string' ? last.content : last?.content.map((part) => part.text).join('')
  if (text === undefined || text === '') {
    throw new AppError('invalid-request', 'messages has no user message with text: send the text to speak as the last one', {
      param: 'messages',
    })
  }
  const { model, voice, speed, instructions, cancel_id, session_id } = wire
  const fields = {
    input: text,
    voice: voice ?? defaultVoice,
    response_format: 'wav',
    ...(typeof speed === 'number' && { speed }),
    ...(typeof instructions === 'string' && { instructions }),
  }
  return {
    // Unsloth has one active model, whose name is `default`.
    model: model === 'default' || model === '' ? undefined : (model ?? undefined),
    text,
    fields,
    cancelFields: { cancel_id, session_id },
    ignored: checkFields(fieldIndex, wire),
  }
}

/** Its reply: the sound as base64, in something like a chat completion. Throws for bytes that are not WAV. */
export function encodeSpeech(
  wav: Buffer,
  { model, text, nowMs }: { readonly model: string; readonly text: string; readonly nowMs: number },
): Speech {
  const quoted = text.length > maxQuotedChars ? `${text.slice(0, maxQuotedChars)}…` : text
  return {
    id: `chatcmpl-${randomHex()}`,
    object: 'chat.completion.audio',
    created: Math.floor(nowMs / 1000),
    model,
    audio: { data: wav.toString('base64'), format: 'wav', sample_rate: sampleRateOf(wav) },
    choices: [
      { index: 0, message: { role: 'assistant', content: `[Generated audio from: "${quoted}"]` }, finish_reason: 'stop' },
    ],
  }
}

/** From the `fmt ` chunk, which precedes the sound. */
function sampleRateOf(wav: Buffer): number {
  const isWav = wav.toString('latin1', 0, 4) === 'RIFF' && wav.toString('latin1', 8, 12) === 'WAVE'
  for (let at = 12; isWav && at + 16 <= wav.length; at += 8 + wav.readUInt32LE(at + 4)) {
    if (wav.toString('latin1', at, at + 4) === 'fmt ') return wav.readUInt32LE(at + 12)
  }
  throw new AppError(
    'upstream-failed',
    'the server behind this model sent no WAV file, although the request has response_format wav',
  )
}
