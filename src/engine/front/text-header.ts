import type { OutputFormat } from '../../contract/output-format.ts'

/** The header of the message to the user, in formats with one for each message. */
const textHeaders: ReadonlyMap<string, string> = new Map([
  ['harmony', '<|channel|>final<|message|>'],
  ['glimmer', ' to=user<|message|>'],
  ['inkling', '<|content_text|>'],
  ['solar', '<|content|>'],
  ['functionary-v3.2', 'all\n'],
])

/** The text that the model writes in front of its answer, besides reasoning; empty for most formats. */
export function textHeader(format: OutputFormat | undefined): string {
  return textHeaders.get(format?.toolFormat ?? '') ?? ''
}
