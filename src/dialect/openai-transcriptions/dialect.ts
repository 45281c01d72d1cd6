import { randomHex } from '../../base/random-hex.ts'
import type { Dialect, StreamEncoder } from '../../contract/dialect.ts'
import { AppError } from '../../contract/errors.ts'
import type { FinishReason, Usage } from '../../contract/event.ts'
import type { GenerationResult } from '../../contract/result.ts'
import { encodeOpenaiError } from '../openai/errors.ts'
import { toFrameJson } from '../wire/json/frame-json.ts'
import { encodeStream, nothing, withoutCalls } from '../wire/stream/encode-stream.ts'
import { type DecodedSpeech, decodeSpeechForm, type SpeechForm, type SpeechTask } from './decode.ts'
import type { SpeechUsage, Transcript } from './replies.ts'

/** OpenAI's `POST /v1/audio/transcriptions` and `/translations`, by a model that hears. */
export function createOpenaiTranscriptions(task: SpeechTask): Dialect {
  return {
    decode({ body }, { id }) {
      const { requests, stream, ignored, nameOf, ...style } = decodeSpeechForm(body as SpeechForm, { id, task })
      return {
        requests,
        stream,
        ignored,
        nameOf,
        ...(style.format === 'text' && !stream && { resultType: 'text/plain; charset=utf-8' }),
        encodeResult: (result) => encodeResult(result, { ...style, task }),
        createStreamEncoder: () => createTranscriptEncoder(requests.length),
      }
    },
    createId: () => `transcript-${randomHex()}`,
    encodeError: encodeOpenaiError,
    heartbeat: ': \n\n',
    prefixes: [],
  }
}

type Style = Pick<DecodedSpeech, 'format' | 'language' | 'durationMs'> & { readonly task: SpeechTask }

function encodeResult({ choices, usage }: GenerationResult, { format, task, language, durationMs }: Style): Transcript | string {
  const texts = choices.map(({ parts, finish }, index) => {
    refuseTruncated(finish.reason, index, choices.length)
    return parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
  })
  const text = texts.reduce((before, next) => before + continued(before, next), '').trimEnd()
  if (format === 'text') return `${text}\n`
  if (format === 'json') return { text, usage: encodeUsage(usage) }
  return {
    task,
    ...(language !== undefined && { language }),
    ...(durationMs !== undefined && { duration: Math.round(durationMs) / 1000 }),
    text,
    usage: encodeUsage(usage),
  }
}

/** A transcript has no place for saying that it lacks its end. */
function refuseTruncated(reason: FinishReason, index: number, count: number): void {
  if (reason === 'stop' || reason === 'end-of-message') return
  const where = count === 1 ? 'the transcript' : `part ${index + 1} of ${count} of the transcript`
  const message = `${where} was cut (${reason}): send a shorter file, or load the model with a larger context`
  throw new AppError('invalid-output', message, { param: 'file' })
}

/** The text of a piece behind those before it: apart by one space, and without the white space with which models begin. */
function continued(before: string, next: string): string {
  const text = next.trimStart()
  return text === '' || before === '' || /\s$/.test(before) ? text : ` ${text}`
}

function encodeUsage({ inputTokens, outputTokens, cachedInputTokens }: Usage): SpeechUsage {
  return {
    type: 'tokens',
    input_tokens: inputTokens,
    input_token_details: { cached_tokens: cachedInputTokens },
    output_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
  }
}

/** The pieces may be heard side by side; their texts are sent one after the other. */
function createTranscriptEncoder(count: number): StreamEncoder {
  const waiting = Array.from({ length: count }, () => '')
  const hasEnded = waiting.map(() => false)
  let open = 0
  let hasBegun = false
  let text = ''

  function add(delta: string): string {
    const sent = hasBegun ? delta : continued(text, delta)
    if (sent === '') return ''
    hasBegun = true
    text += sent
    return `data: {"type":"transcript.text.delta","delta":${toFrameJson(sent)}}\n\n`
  }

  return encodeStream({
    ...withoutCalls,
    start: nothing,
    'reasoning-delta': nothing,
    'refusal-delta': nothing,
    'text-delta': ({ choice, delta }) => {
      if (choice === open) return add(delta)
      waiting[choice] = (waiting[choice] ?? '') + delta
      return ''
    },
    finish: ({ choice, reason }) => {
      refuseTruncated(reason, choice, count)
      hasEnded[choice] = true
      let frames = ''
      while (hasEnded[open] === true) {
        open += 1
        hasBegun = false
        frames += add(waiting[open] ?? '')
      }
      return frames
    },
    usage: ({ usage }) =>
      `data: {"type":"transcript.text.done","text":${toFrameJson(text.trimEnd())},"usage":${toFrameJson(encodeUsage(usage))}}\n\n`,
    error: ({ error }) => `data: ${toFrameJson(encodeOpenaiError(error).body)}\n\n`,
  })
}
