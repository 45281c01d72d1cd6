import type { ContextOverflow } from '../../../contract/errors.ts'
import { asObject, asText } from './loose-json.ts'
import { withoutSecrets } from './secrets.ts'

/** What an upstream says about a failure. */
export type SaidError = {
  readonly message: string
  /** The request is longer than the context, by the error's code: its wording differs from server to server. */
  readonly isTooLong: boolean
  /** The field at fault, in OpenAI's names. */
  readonly param?: string
  /** Its own word for the failure. */
  readonly code?: string
}

/** Errors may quote a whole request; messages about its length are short. */
const maxLength = 2000
/** No server nests its error deeper. */
const maxDepth = 8
const tooLong = new Set(['context_length_exceeded', 'exceed_context_size_error', 'context_window_exceeded'])

/** An error object of any shape, without secrets: they are masked before the message is shortened. */
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

/** A text with an ellipsis for what is beyond `length`. */
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

/** How vLLM, SGLang, llama-server, OpenAI and Anthropic report that a request is too long. */
const patterns: readonly RegExp[] = [
  // Of several numbers, the first that is not the output's.
  /maximum context length is (?<limit>\d{1,9}) tokens\b.{0,300}?\b(?<asked>\d{1,9})(?: input)? tokens/is,
  /request \((?<asked>\d{1,9}) tokens\) exceeds the available context size \((?<limit>\d{1,9}) tokens\)/i,
  /\b(?<asked>\d{1,9}) tokens\D* (?:is|are) longer than the model's context length \(?(?<limit>\d{1,9})/i,
  /prompt is too long: (?<asked>\d{1,9}) tokens > (?<limit>\d{1,9}) maximum/i,
  /context limit: (?<asked>\d{1,9}) \+ \d{1,9} > (?<limit>\d{1,9})/i,
  /input \((?<asked>\d{1,9}) tokens\)\D*context length \((?<limit>\d{1,9})/i,
]

/** The numbers in an upstream's message that a request is too long; undefined for any other message. */
export function parseContextOverflow(message: string): ContextOverflow | undefined {
  const start = message.slice(0, maxLength)
  for (const pattern of patterns) {
    const { limit, asked } = pattern.exec(start)?.groups ?? {}
    if (limit !== undefined && asked !== undefined) return { inputTokens: Number(asked), contextLength: Number(limit) }
  }
  return undefined
}
