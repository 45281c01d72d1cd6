import type { Annotation } from '../../../contract/request.ts'
import { readError } from './error-message.ts'
import { statusFailed } from './failed-request.ts'
import { asArray, asCount, asObject, asText, type Loose } from './loose-json.ts'
import { valueWithoutSecrets } from './secrets.ts'
import { UpstreamError } from './upstream-error.ts'

/** The fields of a reply or chunk that are read. Each may be missing, null or of another type: reading is lenient. */
export type WireChunk = {
  readonly choices: readonly WireChoice[]
  readonly usage: WireUsage | undefined
  /** llama-server's running counts. */
  readonly timings: { readonly inputTokens: number; readonly cachedTokens: number; readonly outputTokens: number } | undefined
}

export type WireChoice = {
  readonly index: number
  readonly text: string
  readonly reasoning: string
  readonly refusal: string
  readonly annotations: readonly Annotation[]
  readonly calls: readonly WireCall[]
  readonly logprobs: unknown
  /** Of a chunk that is one token. */
  readonly tokenId: number | undefined
  readonly finishReason: string | undefined
  /** The stop sequence that the server reports, in whatever form. */
  readonly stop: unknown
}

/** A piece of a tool call; `arguments` is JSON text, also where the server sent an object. */
export type WireCall = {
  readonly index: number
  readonly id: string | undefined
  readonly name: string
  readonly arguments: string
}

type WireUsage = {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cachedTokens: number
  readonly reasoningTokens: number
}

type ReadOptions = {
  readonly stopField?: string | undefined
  /** How many choices were asked for: more are not read. */
  readonly choices: number
}

/** Reads a chunk of a stream or a whole reply, of chat or completions. Throws an error that the server reports in it. */
export function readChunk(value: unknown, { stopField, choices }: ReadOptions): WireChunk {
  const chunk = asObject(value)
  if (chunk === undefined) {
    const message = 'the server behind this model sent something that is not a JSON object'
    throw new UpstreamError({ type: 'malformed' }, message)
  }
  if (chunk.error !== undefined && chunk.error !== null) throw reportedError(chunk.error)
  // Older versions of vLLM.
  if (chunk.object === 'error') throw reportedError(chunk)
  return {
    choices: firstOf(asArray(chunk.choices), choices).flatMap((choice, position) => readChoice(choice, position, stopField)),
    usage: readUsage(chunk.usage),
    timings: readTimings(chunk.timings),
  }
}

/** An error inside a reply, as if it had come as a status: most servers give a number, others a word. */
function reportedError(error: unknown): UpstreamError {
  const object = asObject(error)
  const code = Number(object?.code ?? object?.status ?? object?.status_code)
  const words = `${asText(object?.code)} ${asText(object?.type)}`
  const status = Number.isInteger(code) && code >= 400 && code < 600 ? code : statusOfWords(words)
  return statusFailed({ status, said: readError(valueWithoutSecrets(error)), retryAfter: undefined, host: 'its address' })
}

/** OpenAI's and Anthropic's error types. */
function statusOfWords(words: string): number {
  if (/rate_limit|insufficient_quota|too_?many_?requests/i.test(words)) return 429
  if (/overloaded|service_unavailable/i.test(words)) return 503
  return /invalid_request|bad_?request|context_length_exceeded/i.test(words) ? 400 : 500
}

function readChoice(value: unknown, position: number, stopField: string | undefined): WireChoice[] {
  const choice = asObject(value)
  if (choice === undefined) return []
  const message = asObject(choice.delta) ?? asObject(choice.message) ?? {}
  const content = readText(message.content)
  return [
    {
      index: asCount(choice.index) ?? position,
      // Some servers send a chunk's text in both fields.
      text: content === '' ? (asText(choice.text) ?? '') : content,
      reasoning: readReasoning(message),
      refusal: readText(message.refusal) + readRefusals(message.content),
      annotations: readAnnotations(message.annotations),
      calls: readCalls(message),
      logprobs: choice.logprobs ?? undefined,
      tokenId: asCount(message.token_id),
      finishReason: readWord(choice.finish_reason),
      stop: stopField === undefined ? undefined : (choice[stopField] ?? undefined),
    },
  ]
}

/** Some servers send an array of parts. */
function readText(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map((part) => asText(asObject(part)?.text) ?? '').join('')
}

/** Refusals among the parts of a content. */
function readRefusals(content: unknown): string {
  if (!Array.isArray(content)) return ''
  return content.map((part) => asText(asObject(part)?.refusal) ?? '').join('')
}

function firstOf(all: readonly unknown[], count: number): readonly unknown[] {
  return all.length > count ? all.slice(0, count) : all
}

/** In either of two fields, of which one may be empty, or in parts of the content. */
function readReasoning(message: Loose): string {
  for (const field of [message.reasoning_content, message.reasoning]) {
    const text = asText(field)
    if (text !== undefined && text !== '') return text
  }
  if (!Array.isArray(message.content)) return ''
  return message.content.map((part) => readText(asObject(part)?.thinking)).join('')
}

const noAnnotations: readonly Annotation[] = []

/** OpenAI's citations of pages; other types have no form that all readers share. */
function readAnnotations(value: unknown): readonly Annotation[] {
  if (!Array.isArray(value)) return noAnnotations
  return value.flatMap((item): Annotation[] => {
    const citation = asObject(asObject(item)?.url_citation)
    const url = asText(citation?.url)
    if (citation === undefined || url === undefined) return []
    const [title, startIndex, endIndex] = [asText(citation.title), asCount(citation.start_index), asCount(citation.end_index)]
    return [
      {
        type: 'url-citation',
        url,
        ...(title !== undefined && { title }),
        ...(startIndex !== undefined && { startIndex }),
        ...(endIndex !== undefined && { endIndex }),
      },
    ]
  })
}

/** Some servers send an empty string or 'null' for null. */
function readWord(value: unknown): string | undefined {
  const word = asText(value)
  return word === '' || word === 'null' ? undefined : word
}

const noCalls: readonly WireCall[] = []

/** Most chunks have no calls. */
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
