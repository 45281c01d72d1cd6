import type { Annotation } from '../../../contract/request.ts'
import { asArray, asCount, asObject, asText, type Loose } from './loose-json.ts'
import { reportedError } from './reported-error.ts'
import { UpstreamError } from './upstream-error.ts'
import { noAnnotations, noCalls, type WireCall, type WireChoice, type WireChunk } from './wire-chunk.ts'

type ReadOptions = {
  readonly stopField?: string | undefined
  /** The number of requested choices: more are not read. */
  readonly choices: number
}

/** Reads a chunk of a stream or a whole reply, of chat or completions. Throws an error that the server reports in it. */
export function readChunk(value: unknown, { stopField, choices }: ReadOptions): WireChunk {
  const chunk = asObject(value)
  if (chunk === undefined) throw notAnObject()
  if (chunk.error !== undefined && chunk.error !== null) throw reportedError(chunk.error)
  // Older versions of vLLM.
  if (chunk.object === 'error') throw reportedError(chunk)
  return {
    choices: readChoices(asArray(chunk.choices), { stopField, choices }),
    usage: readUsage(chunk.usage),
    timings: readTimings(chunk.timings),
    progress: chunk.prompt_progress === undefined ? undefined : readProgress(chunk.prompt_progress),
  }
}

export function notAnObject(): UpstreamError {
  return new UpstreamError({ type: 'malformed' }, 'the server behind this model sent something that is not a JSON object')
}

/** Without `flatMap`, which would take as long as the rest. */
function readChoices(all: readonly unknown[], { stopField, choices: wanted }: ReadOptions): readonly WireChoice[] {
  const choices: WireChoice[] = []
  for (let position = 0; position < all.length && position < wanted; position++) {
    const choice = asObject(all[position])
    if (choice !== undefined) choices.push(readChoice(choice, position, stopField))
  }
  return choices
}

function readChoice(choice: Loose, position: number, stopField: string | undefined): WireChoice {
  const message = asObject(choice.delta) ?? asObject(choice.message) ?? {}
  const content = readText(message.content)
  return {
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
  }
}

/** Some servers send an array of parts. */
function readText(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map((part) => asText(asObject(part)?.text) ?? '').join('')
}

function readRefusals(content: unknown): string {
  if (!Array.isArray(content)) return ''
  return content.map((part) => asText(asObject(part)?.refusal) ?? '').join('')
}

/** The reasoning is in one of two fields, one of which may be empty, or in parts of the content. */
function readReasoning(message: Loose): string {
  for (const field of [message.reasoning_content, message.reasoning]) {
    const text = asText(field)
    if (text !== undefined && text !== '') return text
  }
  if (!Array.isArray(message.content)) return ''
  return message.content.map((part) => readText(asObject(part)?.thinking)).join('')
}

/** OpenAI's citations of pages. Other types have no form that all readers share. */
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

function readUsage(value: unknown): WireChunk['usage'] {
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
  const [proposed, accepted] = [asCount(timings.draft_n), asCount(timings.draft_n_accepted)]
  return {
    inputTokens: (asCount(timings.prompt_n) ?? 0) + cachedTokens,
    cachedTokens,
    outputTokens,
    prefillMs: asDuration(timings.prompt_ms),
    decodeMs: asDuration(timings.predicted_ms),
    ...(proposed !== undefined && accepted !== undefined && { drafts: { proposed, accepted } }),
  }
}

function readProgress(value: unknown): WireChunk['progress'] {
  const progress = asObject(value)
  const [inputTokens, readTokens] = [asCount(progress?.total), asCount(progress?.processed)]
  if (inputTokens === undefined || readTokens === undefined) return undefined
  return {
    inputTokens,
    readTokens,
    cachedInputTokens: asCount(progress?.cache) ?? 0,
    elapsedMs: asDuration(progress?.time_ms) ?? 0,
  }
}

function asDuration(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 ? value : undefined
}
