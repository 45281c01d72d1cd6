import { z } from 'zod'
import type { DecodedCall } from '../../contract/dialect.ts'
import { AppError } from '../../contract/errors.ts'
import { type GenerationRequest, type GenerationRequests, plainChat, plainRequest } from '../../contract/request.ts'
import type { FormPart } from '../../contract/services.ts'
import { looseObject } from '../wire/first-fault.ts'
import { mediaInBase64 } from '../wire/media-part.ts'
import { bodyReader } from '../wire/validate.ts'
import { nonEmptyText } from '../wire/wire-types.ts'
import { transcriptionFields } from './fields.ts'
import { windowsOf } from './windows.ts'

/** Writing speech down, or translating it. */
export type SpeechTask = 'transcribe' | 'translate'

/** The body of a request, made from its form: the texts of its fields, and its file. */
export type SpeechForm = { readonly file: Extract<FormPart, { readonly bytes: Uint8Array }> } & Readonly<Record<string, unknown>>

const schema = looseObject({
  model: nonEmptyText,
  language: z.string().max(100).nullish(),
  prompt: z.string().nullish(),
  response_format: z.enum(['json', 'text', 'verbose_json', 'srt', 'vtt']).nullish(),
  // A form has texts only.
  temperature: z
    .stringFormat('number', (text) => text.trim() !== '' && Number(text) >= 0 && Number(text) <= 2, {
      error: 'a number from 0 to 2',
    })
    .nullish(),
  stream: z.enum(['true', 'false']).nullish(),
})
const readFields = bodyReader(schema, transcriptionFields)

/** A transcription in canonical form, and the options of its reply. */
export type DecodedSpeech = Pick<DecodedCall, 'stream' | 'ignored' | 'nameOf'> & {
  /** One for each piece of the recording, in order. */
  readonly requests: GenerationRequests
  readonly format: 'json' | 'text' | 'verbose_json'
  readonly language?: string
  /** Absent where the header of the file does not say it. */
  readonly durationMs?: number
}

/** Throws `invalid-request` or `unsupported-field`, with `param`, for a request that cannot be served completely. */
export function decodeSpeechForm({ file, ...fields }: SpeechForm, { id, task }: { id: string; task: SpeechTask }): DecodedSpeech {
  const { wire, ignored } = readFields(fields)
  const format = wire.response_format ?? 'json'
  if (format === 'srt' || format === 'vtt') throw withTimes(format)
  const stream = wire.stream === 'true'
  if (stream && format === 'verbose_json') throw refusal('stream', 'true has no verbose_json: send response_format json or text')
  const { pieces, durationMs } = windowsOf(Buffer.from(file.bytes.buffer, file.bytes.byteOffset, file.bytes.length))
  const { language, prompt } = wire
  const request = (piece: Buffer, index: number): GenerationRequest => ({
    ...plainRequest,
    id: index === 0 ? id : `${id}-${index}`,
    model: wire.model,
    prompt: {
      ...plainChat,
      type: 'chat',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: instruction(task, { language, prompt }) },
            mediaInBase64('audio', piece.toString('base64'), audioType(file.mediaType)),
          ],
        },
      ],
    },
    sampling: { temperature: Number(wire.temperature ?? 0) },
    reasoning: { enabled: false, isWish: true },
  })
  const [first, ...rest] = Array.from(pieces, request)
  if (first === undefined) throw new Error('a recording has no pieces')
  return {
    requests: [first, ...rest],
    format,
    stream,
    ignored,
    ...(typeof language === 'string' && language !== '' && { language }),
    ...(durationMs !== undefined && { durationMs }),
    // The recording is all of the prompt that can be at fault.
    nameOf: ([root, ...path]) => (root === 'prompt' ? 'file' : String(path.at(-1) ?? root)),
  }
}

type Hints = { readonly language: string | null | undefined; readonly prompt: string | null | undefined }

/** The first words are those with which models that transcribe were trained. */
function instruction(task: SpeechTask, { language, prompt }: Hints): string {
  const what = task === 'transcribe' ? 'Transcribe audio to text' : 'Translate the speech in the audio to English text'
  const spoken = language === undefined || language === null || language === '' ? '' : ` (language: ${language})`
  return `${what}${spoken}${prompt === undefined || prompt === null || prompt === '' ? '' : `\n${prompt}`}`
}

/** The bytes decide; a form may name any type. */
function audioType(type: string): string | undefined {
  return type.startsWith('audio/') ? type : undefined
}

function withTimes(format: string): AppError {
  return refusal(
    'response_format',
    `${format} has the times of words, which a model that hears does not measure: send json or text`,
  )
}

function refusal(param: string, why: string): AppError {
  return new AppError('unsupported-field', `${param} ${why}`, { param })
}
