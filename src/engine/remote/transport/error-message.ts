import type { ContextOverflow } from '../../../contract/errors.ts'
import { asObject, asText } from './loose-json.ts'
import { withoutSecrets } from './secrets.ts'

/** An upstream's own words about a failure. */
export type SaidError = {
  readonly message: string
  /** The request is longer than the context, according to the error's code: the wording differs from server to server. */
  readonly isTooLong: boolean
  /** The field at fault, in OpenAI's names. */
  readonly param?: string
  /** Its own code for the failure. */
  readonly code?: string
}

/** Errors may quote a whole request; messages about its length are short. */
const maxLength = 2000
/** No server nests its error deeper. */
const maxDepth = 8
const tooLong = new Set(['context_length_exceeded', 'exceed_context_size_error', 'context_window_exceeded'])

/** Reads an error object of any shape, without secrets: they are masked before the message is shortened. */
export function readError(error: unknown): SaidError {
  const { message, details } = innermost(error)
  const words = [asText(details?.code), asText(details?.type)]
  const param = withoutSecrets(asText(details?.param) ?? '')
  const code = asText(details?.code)
  return {
    message: shortened(withoutSecrets(message), maxLength),
    isTooLong: words.some((word) => word !== undefined && tooLong.has(word)),
    ...(/^[\w.[\]-]{1,200}$/.test(param) && { param }),
    ...(code !== undefined && { code }),
  }
}

/** The text, with an ellipsis for the rest after `length`. */
export function shortened(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length)}…` : text
}

type Innermost = { readonly message: string; readonly details: ReturnType<typeof asObject> }

/** The message, and the object that holds it: servers nest them in `error`, `message` or `detail`. */
function innermost(error: unknown): Innermost {
  let value = error
  let details: Innermost['details']
  for (let depth = 0; depth < maxDepth; depth++) {
    const object = asObject(value)
    if (object === undefined) break
    details = object
    const inner = object.error ?? object.message ?? object.detail
    if (inner === undefined) break
    value = inner
  }
  return { message: typeof value === 'string' ? value : asJson(value), details }
}

function asJson(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch {
    // Too deep for the stack.
    return 'an error that cannot be read'
  }
}

/**
 * Patterns of messages that a request asks for too much: more than the context (`asked` tokens of the prompt, `output` of the output, and
 * `limit`), or more than the `most` of one output. The first match decides.
 */
const patterns: readonly RegExp[] = [
  // vLLM, Aphrodite, OpenAI, OpenRouter. A prompt and an output together are too long.
  /is too large: (?<output>\d{1,9})\. This model's maximum context length is (?<limit>\d{1,9}) tokens and your request has (?<asked>\d{1,9}) input tokens/i,
  /maximum context length is (?<limit>\d{1,9}) tokens\b.{0,100}?\brequested (?<output>\d{1,9}) output tokens.{0,60}?\b(?<asked>\d{1,9}) input tokens/is,
  /maximum context length is (?<limit>\d{1,9}) tokens\b.{0,100}?\((?<asked>\d{1,9}) (?:in (?:the|your)|of text) \w+[;,] (?<output>\d{1,9}) /is,
  // SGLang, whose requests must be shorter than the context.
  /maximum context length of (?<below>\d{1,9}) tokens\b.{0,60}?\b(?<asked>\d{1,9}) tokens from the input messages and (?<output>\d{1,9}) tokens/is,
  // Anthropic; TGI and Together.
  /context limit: (?<asked>\d{1,9}) \+ (?<output>\d{1,9}) > (?<limit>\d{1,9})/i,
  /must be <= (?<limit>\d{1,9})\. Given: (?<asked>\d{1,9}) `inputs` tokens and (?<output>\d{1,9})/i,
  // Only the output: OpenAI and SGLang; Anthropic; TGI; Groq; DeepSeek.
  /max_(?:completion_)?tokens is too large: \d{1,9}\. ?This model supports at most (?<most>\d{1,9}) completion tokens/i,
  /max_tokens: \d{1,9} > (?<most>\d{1,9}), which is the maximum/i,
  /`max_new_tokens` must be <= (?<most>\d{1,9})\./i,
  /max_(?:completion_)?tokens\W{1,4}must be less than or equal to \W?(?<most>\d{1,9})/i,
  /valid range of max_(?:completion_)?tokens is \[\d{1,9}, (?<most>\d{1,9})\]/i,
  // Only the prompt: the first number that is not the output's.
  /maximum context length is (?<limit>\d{1,9}) tokens\b.{0,300}?\b(?<asked>\d{1,9})(?: input)? tokens/is,
  /request \((?<asked>\d{1,9}) tokens\) exceeds the available context size \((?<limit>\d{1,9}) tokens\)/i,
  /\b(?<asked>\d{1,9}) tokens\D* (?:is|are) longer than the model's context length \(?(?<limit>\d{1,9})/i,
  /prompt is too long: (?<asked>\d{1,9}) tokens > (?<limit>\d{1,9}) maximum/i,
  /prompt is too long: (?<asked>\d{1,9}), model maximum context length: (?<limit>\d{1,9})/i,
  /input \((?<asked>\d{1,9}) tokens\)\D*context length \((?<limit>\d{1,9})/i,
  /input length \((?<asked>\d{1,9}) tokens\) exceeds the maximum allowed length \((?<limit>\d{1,9})/i,
  /`inputs` must have less than (?<below>\d{1,9}) tokens\. Given: (?<asked>\d{1,9})/i,
  /maximum prompt length is (?<limit>\d{1,9}) but the request contains (?<asked>\d{1,9}) tokens/i,
  /input token count \((?<asked>\d{1,9})\) exceeds the maximum number of tokens allowed \((?<limit>\d{1,9})\)/i,
]

/** The limits that a request exceeds, according to the server. */
type SaidLimits = {
  readonly overflow?: ContextOverflow
  /** The longest output that the server would accept with this prompt. */
  readonly mostOutputTokens?: number
}

/** The numbers in an upstream's message that a request asks for too much. Empty for other messages. */
export function parseLimits(message: string): SaidLimits {
  const start = message.slice(0, maxLength)
  for (const pattern of patterns) {
    const { limit, below, asked, output, most } = pattern.exec(start)?.groups ?? {}
    if (most !== undefined) return { mostOutputTokens: Number(most) }
    const contextLength = limit ?? below
    if (contextLength === undefined || asked === undefined) continue
    const overflow = { inputTokens: Number(asked), contextLength: Number(contextLength) }
    if (output === undefined) return { overflow }
    const room = overflow.contextLength - overflow.inputTokens - (below === undefined ? 0 : 1)
    return { overflow: { ...overflow, outputTokens: Number(output) }, ...(room > 0 && { mostOutputTokens: room }) }
  }
  return {}
}
