import type { Token } from '../../binding/tokenizer.ts'
import type { RunCommand } from '../../channel/ipc.ts'
import type { Vocabulary } from '../sampling/vocabulary.ts'
import { tokensWhere } from './banned-strings.ts'

/** The text at the end of a prompt that the output has to begin with, and the tokens that do not begin with it. */
export type Healing = { readonly text: Uint8Array; readonly forbidden: ReadonlySet<Token> }

/**
 * Removes the last token of a prompt: the output begins with a token that extends it, of which only the extension is new (`token_healing`
 * of exllamav2 and exllamav3). Control tokens stay, and so does the only token.
 */
export function healPrompt(command: RunCommand, vocabulary: Vocabulary): { command: RunCommand; healing?: Healing } {
  const { sampling, tokens } = command
  const last = tokens.at(-1) as Token
  const text = vocabulary.bytesOf(last)
  const isControl = text.length === 0 || vocabulary.visibleTokens.some(({ token }) => token === last)
  if (sampling.healsTokens !== true || tokens.length < 2 || isControl) return { command }
  const begins = (bytes: Uint8Array) => text.every((byte, index) => bytes[index] === byte)
  const forbidden = new Set(tokensWhere(vocabulary.size, (token) => !begins(vocabulary.bytesOf(token))))
  return { command: { ...command, tokens: tokens.subarray(0, -1) }, healing: { text, forbidden } }
}
