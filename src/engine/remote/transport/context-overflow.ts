import type { ContextOverflow } from '../../../contract/errors.ts'

/** Overflow messages are short; other messages may quote a client's long text. */
const maxLength = 2000
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
