import { shortened } from './error-message.ts'

/** llama-server's words where its Jinja, or what it makes of a template, fails. */
const refusals = [
  /While executing \w+ at line \d+, column \d+ in source/,
  /Unable to generate parser for this template/,
  /Failed to parse tool call arguments as JSON/,
]

/**
 * What a server's template says of a conversation that it refuses; undefined for other messages. A llama-server answers 500 for what a
 * caller wrote, with a part of the template's source.
 */
export function templateRefusal(message: string): string | undefined {
  if (!refusals.some((pattern) => pattern.test(message))) return undefined
  const said = /Error: (?:Jinja Exception: )?([^\n]+)\s*$/.exec(message)?.[1] ?? message
  return `the model's chat template cannot render this conversation: ${shortened(said.trim(), 300)}`
}
