import { errorMessage } from './error-message.ts'
import { statusFailed } from './failed-request.ts'
import { asArray, asCount, asObject, asText, type Loose } from './loose-json.ts'
import { UpstreamError } from './upstream-error.ts'

/** What is looked at in a reply or a chunk. Everything may be missing, null or of another type: it is read leniently. */
export type WireChunk = {
  readonly choices: readonly WireChoice[]
  readonly usage: WireUsage | undefined
  /** llama-server's running account. */
  readonly timings: { readonly inputTokens: number; readonly cachedTokens: number; readonly outputTokens: number } | undefined
}

export type WireChoice = {
  readonly index: number
  readonly text: string
  readonly reasoning: string
  readonly calls: readonly WireCall[]
  readonly logprobs: unknown
  readonly finishReason: string | undefined
  /** What the server says ended it, where it says that. */
  readonly stop: unknown
}

/** A piece of a call; `arguments` is JSON text, whatever the server made of it. */
export type WireCall = {
  readonly index: number
  readonly id: string | undefined
  readonly name: string
  readonly arguments: string
}

export type WireUsage = {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cachedTokens: number
  readonly reasoningTokens: number
}

/** Reads a chunk of a stream or a whole reply, of chat or completions. Throws what the server reports as an error. */
export function readChunk(value: unknown, stopField: string | undefined): WireChunk {
  const chunk = asObject(value)
  if (chunk === undefined) {
    const message = 'the server behind this model sent something that is no JSON object'
    throw new UpstreamError({ type: 'truncated' }, message)
  }
  if (chunk.error !== undefined && chunk.error !== null) throw reportedError(chunk.error)
  // vLLM's older form.
  if (chunk.object === 'error') throw reportedError(chunk)
  return {
    choices: asArray(chunk.choices).flatMap((choice, position) => readChoice(choice, position, stopField)),
    usage: readUsage(chunk.usage),
    timings: readTimings(chunk.timings),
  }
}

/** As the status that it would have been, had the reply not begun: most servers name it, others say it in a word. */
function reportedError(error: unknown): UpstreamError {
  const object = asObject(error)
  const code = Number(object?.code ?? object?.status ?? object?.status_code)
  const status = Number.isInteger(code) && code >= 400 && code < 600 ? code : statusOfWords(`${object?.code} ${object?.type}`)
  return statusFailed({ status, text: JSON.stringify(errorMessage(error)), retryAfter: undefined, host: 'its address' })
}

/** OpenAI's and Anthropic's words. */
function statusOfWords(words: string): number {
  if (/rate_limit|insufficient_quota|too_?many_?requests/i.test(words)) return 429
  if (/overloaded|service_unavailable/i.test(words)) return 503
  return /invalid_request|bad_?request|context_length_exceeded/i.test(words) ? 400 : 500
}

function readChoice(value: unknown, position: number, stopField: string | undefined): WireChoice[] {
  const choice = asObject(value)
  if (choice === undefined) return []
  const message = asObject(choice.delta) ?? asObject(choice.message) ?? {}
  return [
    {
      index: asCount(choice.index) ?? position,
      text: readText(message.content) + readText(message.refusal) + (asText(choice.text) ?? ''),
      reasoning: readReasoning(message),
      calls: readCalls(message),
      logprobs: choice.logprobs ?? undefined,
      finishReason: readWord(choice.finish_reason),
      stop: stopField === undefined ? undefined : (choice[stopField] ?? undefined),
    },
  ]
}

/** Some servers answer in parts. */
function readText(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map((part) => asText(asObject(part)?.text) ?? '').join('')
}

/** Under the one name or the other, of which the other may be empty, or as parts of the content. */
function readReasoning(message: Loose): string {
  for (const field of [message.reasoning_content, message.reasoning]) {
    const text = asText(field)
    if (text !== undefined && text !== '') return text
  }
  if (!Array.isArray(message.content)) return ''
  return message.content.map((part) => readText(asObject(part)?.thinking)).join('')
}

/** Some servers write an empty text, or the word, for null. */
function readWord(value: unknown): string | undefined {
  const word = asText(value)
  return word === '' || word === 'null' ? undefined : word
}

const noCalls: readonly WireCall[] = []

/** Most chunks have none. */
function readCalls({ tool_calls, function_call }: Loose): readonly WireCall[] {
  if (tool_calls === undefined && function_call === undefined) return noCalls
  return [...asArray(tool_calls).flatMap(readCall), ...readLegacyCall(function_call)]
}

function readCall(value: unknown, position: number): WireCall[] {
  const call = asObject(value)
  if (call === undefined) return []
  const called = asObject(call.function) ?? call
  const id = asText(call.id)
  return [
    {
      index: asCount(call.index) ?? position,
      id: id === '' ? undefined : id,
      name: asText(called.name) ?? '',
      arguments: readArguments(called.arguments),
    },
  ]
}

function readLegacyCall(value: unknown): WireCall[] {
  const call = asObject(value)
  if (call === undefined) return []
  return [{ index: 0, id: undefined, name: asText(call.name) ?? '', arguments: readArguments(call.arguments) }]
}

function readArguments(value: unknown): string {
  if (typeof value === 'string') return value
  return value === undefined || value === null ? '' : JSON.stringify(value)
}

function readUsage(value: unknown): WireUsage | undefined {
  const usage = asObject(value)
  const inputTokens = asCount(usage?.prompt_tokens)
  const outputTokens = asCount(usage?.completion_tokens)
  if (usage === undefined || inputTokens === undefined) return undefined
  const total = asCount(usage.total_tokens)
  return {
    inputTokens,
    outputTokens: outputTokens ?? Math.max(0, (total ?? inputTokens) - inputTokens),
    cachedTokens: asCount(asObject(usage.prompt_tokens_details)?.cached_tokens) ?? asCount(usage.prompt_cache_hit_tokens) ?? 0,
    reasoningTokens: asCount(asObject(usage.completion_tokens_details)?.reasoning_tokens) ?? asCount(usage.reasoning_tokens) ?? 0,
  }
}

function readTimings(value: unknown): WireChunk['timings'] {
  const timings = asObject(value)
  const outputTokens = asCount(timings?.predicted_n)
  if (timings === undefined || outputTokens === undefined) return undefined
  const cachedTokens = asCount(timings.cache_n) ?? 0
  return { inputTokens: (asCount(timings.prompt_n) ?? 0) + cachedTokens, cachedTokens, outputTokens }
}
