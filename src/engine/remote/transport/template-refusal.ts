import { shortened } from './error-message.ts'

/** Messages of llama-server for a failure in its Jinja, or in the code that applies a template. */
const refusals = [
  /While executing \w+ at line \d+, column \d+ in source/,
  /Unable to generate parser for this template/,
  /Failed to parse tool call arguments as JSON/,
]

/**
 * The template's own message about a conversation that it refuses. Undefined for other messages. A llama-server reports the caller's
 * mistake as 500, with a part of the template's source.
 */
export function templateRefusal(message: string): string | undefined {
  if (!refusals.some((pattern) => pattern.test(message))) return undefined
  const said = /Error: (?:Jinja Exception: )?([^\n]+)\s*$/.exec(message)?.[1] ?? message
  return `the model's chat template cannot render this conversation: ${shortened(said.trim(), 300)}`
}
