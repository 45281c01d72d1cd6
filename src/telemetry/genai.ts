import { placeOfChange } from '../canonical/place-of-change.ts'
import type { AttemptEnd, AttemptStart } from '../contract/attempts.ts'
import type { ArrivedRequest, BegunGeneration, SentReply } from '../contract/tracing.ts'
import type { GenerationRecord } from '../contract/usage.ts'
import type { Attributes, Double } from './otlp.ts'

/** Routes of OpenAI, llama-server, Ollama and KoboldAI. */
const texts = /\/(completions?|infill|api\/((v1|latest)\/)?generate|extra\/generate\/stream)$/

/** OpenTelemetry's name for the operation of a route; undefined for a route that does not use a model. */
export function operationOf(route: string): string | undefined {
  if (/\/embed(dings?)?$/.test(route)) return 'embeddings'
  if (/\/(chat\/completions|messages|responses|api\/chat)$/.test(route)) return 'chat'
  return texts.test(route) ? 'text_completion' : undefined
}

type RequestFacts = {
  readonly request: ArrivedRequest
  readonly reply: SentReply
  readonly operation: string | undefined
  readonly model: string | undefined
  readonly record: GenerationRecord | undefined
  readonly begun: BegunGeneration | undefined
}

/** The attributes of a request's span, by OpenTelemetry's conventions for generative AI and HTTP; no texts of prompts or replies. */
export function requestAttributes({ request, reply, operation, model, record, begun }: RequestFacts): Attributes {
  const isUse = operation !== undefined
  const { timings, usage, diverged } = record ?? {}
  return {
    'http.request.method': request.method,
    'http.route': request.route,
    'http.response.status_code': reply.status,
    'dragoman.key': request.key,
    'dragoman.batch.id': request.batch,
    'error.type': errorOf(reply, record),
    'gen_ai.operation.name': operation,
    'gen_ai.provider.name': isUse ? 'dragoman' : undefined,
    'gen_ai.request.model': isUse ? (reply.requestedModel?.slice(0, 200) ?? model) : undefined,
    'gen_ai.request.stream': reply.isStreamed === true ? true : undefined,
    ...(begun !== undefined && askedAttributes(begun)),
    'gen_ai.response.model': isUse ? model : undefined,
    'gen_ai.response.id': isUse ? reply.replyId : undefined,
    'gen_ai.response.finish_reasons': record?.finishReasons,
    'gen_ai.response.time_to_first_chunk': reply.isStreamed === true ? seconds(timings?.firstTokenMs) : undefined,
    'dragoman.queue.duration': seconds(timings?.queueMs),
    'gen_ai.usage.input_tokens': usage?.inputTokens,
    'gen_ai.usage.output_tokens': usage?.outputTokens,
    'gen_ai.usage.cache_read.input_tokens': usage?.cachedInputTokens,
    'gen_ai.usage.reasoning.output_tokens': usage?.reasoningTokens,
    'dragoman.prompt.diverged_at': diverged && placeOfChange(diverged),
    'dragoman.prompt.diverged_part': diverged?.part,
    'dragoman.prompt.change': diverged?.kind,
    'dragoman.prompt.missed_tokens': diverged?.missedTokens,
  }
}

export function attemptAttributes(operation: string | undefined, start: AttemptStart, end: AttemptEnd): Attributes {
  const [, host = start.server, port] = /^(.*?)(?::(\d+))?$/.exec(start.server) ?? []
  const status = /^\d{3}$/.test(end.error ?? '') ? Number(end.error) : undefined
  const { usage } = end
  return {
    'gen_ai.operation.name': operation,
    'gen_ai.provider.name': start.kind,
    'gen_ai.request.model': start.model,
    'server.address': host,
    'server.port': port === undefined ? undefined : Number(port),
    'http.request.resend_count': start.retry === 0 ? undefined : start.retry,
    'http.response.status_code': end.outcome === 'ok' ? 200 : status,
    'error.type': end.error,
    'gen_ai.response.finish_reasons': end.finishReasons,
    'gen_ai.response.time_to_first_chunk': seconds(end.firstChunkMs),
    'gen_ai.usage.input_tokens': usage?.inputTokens,
    'gen_ai.usage.output_tokens': usage?.outputTokens,
    'gen_ai.usage.cache_read.input_tokens': usage?.cachedInputTokens,
    'gen_ai.usage.reasoning.output_tokens': usage?.reasoningTokens,
  }
}

/** The code of the failure, or the status of a reply without a generation; undefined for a good reply. */
export function errorOf({ status }: SentReply, record: GenerationRecord | undefined): string | undefined {
  if (record !== undefined && record.outcome !== 'ok') return record.outcome
  if (status === 499) return 'cancelled'
  return status >= 400 ? String(status) : undefined
}

/** The attributes of the span of a tool that the server runs. */
export function toolAttributes(
  { name, id }: { readonly name: string; readonly id: string },
  error: string | undefined,
): Attributes {
  return {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': name,
    'gen_ai.tool.call.id': id,
    'gen_ai.tool.type': 'extension',
    'error.type': error,
  }
}

/** The wishes of a request, without defaults and without its texts, which stop sequences are, too. */
function askedAttributes({ sampling, choices, form, effort, maxOutputTokens, session }: BegunGeneration): Attributes {
  return {
    'gen_ai.request.choice.count': choices === 1 ? undefined : choices,
    'gen_ai.request.seed': sampling.seed,
    'gen_ai.request.max_tokens': maxOutputTokens,
    'gen_ai.request.temperature': double(sampling.temperature),
    'gen_ai.request.top_p': double(sampling.topP),
    'gen_ai.request.top_k': double(sampling.topK),
    'gen_ai.request.frequency_penalty': double(sampling.frequencyPenalty),
    'gen_ai.request.presence_penalty': double(sampling.presencePenalty),
    'gen_ai.request.reasoning.level': effort,
    'gen_ai.output.type': form,
    'gen_ai.conversation.id': session?.slice(0, 200),
  }
}

function double(value: number | undefined): Double | undefined {
  return value === undefined ? undefined : { double: value }
}

function seconds(ms: number | undefined): Double | undefined {
  return ms === undefined ? undefined : { double: ms / 1000 }
}
