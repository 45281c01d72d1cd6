import type { StreamEncoder } from '../../contract/dialect.ts'
import type { FinishReason, GeneratedToken, Timings, Usage } from '../../contract/event.ts'
import type { Choice, GenerationResult } from '../../contract/result.ts'
import { encodeOpenaiError } from '../openai/errors.ts'
import { toWireLogprob } from '../openai/logprobs/wire-logprob.ts'
import { encodeTimings } from '../openai/times/encode-timings.ts'
import { withProgress } from '../openai/times/running-fields.ts'
import { toFrameJson } from '../wire/json/frame-json.ts'
import { allText, encodeStream, withoutCalls } from '../wire/stream/encode-stream.ts'
import type { DecodedLlamaCompletion } from './decode.ts'
import type { LlamaCompletion, LlamaCompletions, LlamaPiece, LlamaToken, WholeCompletion } from './replies.ts'

type Style = Pick<DecodedLlamaCompletion, 'isList' | 'onlyReads' | 'prompts' | 'responseFields' | 'requests'>
type Finish = Choice['finish']

type Ended = {
  readonly index: number
  readonly model: string
  readonly content: string
  readonly hasNewLine: boolean
  readonly tokens: readonly GeneratedToken[]
  readonly finish: Finish
  readonly usage: Usage
  readonly timings: Timings
}

/** The reply of llama-server's `POST /completion`: an object, or an array for several prompts or choices. */
export function encodeResult({ start, choices, usage, timings }: GenerationResult, style: Style): LlamaCompletions {
  const replies = choices.map(({ parts, tokens, finish }, index) => {
    // Reasoning is part of the text here.
    const content = parts.map((part) => ('text' in part ? part.text : '')).join('')
    const hasNewLine = content.includes('\n')
    return encodeEnd({ index, model: start.model, content, hasNewLine, tokens, finish, usage, timings }, style)
  })
  const [first] = replies
  return first === undefined || style.isList || replies.length > 1 ? replies : first
}

/** Encodes events as llama-server does: pieces, then the whole reply without its text; no `[DONE]`. */
export function createStreamEncoder(style: Style): StreamEncoder {
  const { onlyReads } = style
  let model = ''
  const finishes: Finish[] = []
  const newLines = new Set<number>()
  const piece = (choice: number, content: string, tokens: readonly GeneratedToken[] | undefined) => {
    if (content.includes('\n')) newLines.add(choice)
    const probabilities = tokens === undefined ? {} : { completion_probabilities: tokens.map(encodeToken) }
    const made: LlamaPiece = { index: choice, content, tokens: [], stop: false, id_slot: 0, ...probabilities }
    return frame(made)
  }
  return encodeStream({
    ...allText(({ choice, delta, tokens }) => (onlyReads ? '' : piece(choice, delta, tokens))),
    ...withoutCalls,
    start: (event) => {
      model = event.model
    },
    'prompt-progress': (event) => (onlyReads ? '' : withProgress(piece(0, '', undefined), event)),
    finish: (event) => {
      finishes[event.choice] = event
    },
    usage: ({ usage, timings }) => {
      const ended = { model, content: '', tokens: [], usage, timings }
      return finishes
        .map((finish, index) => frame(encodeEnd({ ...ended, index, hasNewLine: newLines.has(index), finish }, style)))
        .join('')
    },
    error: ({ error }) => frame(encodeOpenaiError(error).body),
  })
}

function frame(value: unknown): string {
  return `data: ${toFrameJson(value)}\n\n`
}

function encodeEnd({ index, model, finish, usage, timings, ...ended }: Ended, style: Style): LlamaCompletion {
  const { onlyReads, prompts, responseFields, requests } = style
  const { sampling, maxOutputTokens, choices } = requests[0]
  const reply: WholeCompletion = {
    index,
    content: onlyReads ? '' : ended.content,
    tokens: [],
    id_slot: 0,
    stop: true,
    model,
    tokens_predicted: usage.outputTokens,
    tokens_evaluated: usage.inputTokens,
    generation_settings: {
      model,
      n_predict: maxOutputTokens ?? -1,
      ...(sampling.seed !== undefined && { seed: sampling.seed }),
      ...(sampling.temperature !== undefined && { temperature: sampling.temperature }),
    },
    prompt: prompts[Math.floor(index / choices)] ?? '',
    has_new_line: ended.hasNewLine,
    truncated: false,
    stop_type: stopTypeOf(finish, onlyReads),
    stopping_word: finish.stopSequence ?? '',
    tokens_cached: usage.cachedInputTokens,
    timings: encodeTimings({ usage, timings }),
    ...(ended.tokens.length > 0 && !onlyReads && { completion_probabilities: ended.tokens.map(encodeToken) }),
  }
  return responseFields === undefined || responseFields.length === 0 ? reply : pick(reply, responseFields)
}

const stopTypes: Partial<Readonly<Record<FinishReason, string>>> = {
  stop: 'eos',
  'end-of-message': 'eos',
  'tool-calls': 'eos',
  length: 'limit',
  'context-full': 'limit',
}

function stopTypeOf({ reason, stopSequence }: Finish, onlyReads: boolean): string {
  if (onlyReads) return 'limit'
  return stopSequence === undefined ? (stopTypes[reason] ?? 'none') : 'word'
}

function encodeToken({ id, text, bytes, logprob, top }: GeneratedToken): LlamaToken {
  const entry = (token: Pick<GeneratedToken, 'id' | 'text' | 'bytes' | 'logprob'>) => ({
    id: token.id,
    token: token.text,
    bytes: token.bytes,
    logprob: toWireLogprob(token.logprob),
  })
  return { ...entry({ id, text, bytes, logprob }), top_logprobs: top.map(entry) }
}

/** Picks fields of the reply; missing ones are left out. */
function pick(reply: Readonly<Record<string, unknown>>, names: readonly string[]): LlamaCompletion {
  const picked: Record<string, unknown> = Object.create(null)
  for (const name of names) {
    let value: unknown = reply
    for (const key of name.split('/')) value = isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
    if (value !== undefined) picked[name] = value
  }
  return picked
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
