import type { PromptToken } from '../../../../contract/event.ts'
import type { Prompt } from '../../../../contract/request.ts'
import { asArray, asObject, asText } from '../../transport/loose-json.ts'
import { UpstreamError } from '../../transport/upstream-error.ts'
import type { WireChoice } from '../../transport/wire-chunk.ts'
import { pieceOf, readTops, unknownId } from './read-logprobs.ts'

type Echoed = {
  readonly promptTokens: readonly PromptToken[]
  /** The choice without the prompt. */
  readonly choice: WireChoice
}

/**
 * Divides a choice that begins with the prompt, whose tokens are the first `count` of its log-probabilities. Throws if the server has not
 * repeated the prompt.
 */
export function divideEcho(choice: WireChoice, prompt: Prompt, count: number | undefined): Echoed {
  const { tokens, token_logprobs, top_logprobs } = asObject(choice.logprobs) ?? {}
  const texts = asArray(tokens).map((token) => asText(token) ?? '')
  const [logprobs, tops] = [asArray(token_logprobs), asArray(top_logprobs)]
  if (count === undefined || texts.length < count || texts.length === 0) throw withoutPrompt()
  const pieces = piecesOf(texts.slice(0, count), prompt)
  const text = textAfter(choice.text, prompt, texts.slice(count))
  const promptTokens = pieces.map((piece, index) => {
    const logprob = logprobs[index]
    const scores = typeof logprob === 'number' ? { logprob, top: readTops(tops[index]) } : { top: [] }
    return { id: unknownId, ...pieceOf(piece), ...scores }
  })
  const rest = { tokens: texts.slice(count), token_logprobs: logprobs.slice(count), top_logprobs: tops.slice(count) }
  return { promptTokens, choice: { ...choice, text, logprobs: rest } }
}

/** The text after the prompt. For a prompt of token ids, it is assembled from the output's own tokens. */
function textAfter(text: string, prompt: Prompt, outputTexts: readonly string[]): string {
  if (prompt.type === 'text' && text.startsWith(prompt.text)) return text.slice(prompt.text.length)
  const output = Buffer.from(outputTexts.flatMap((shown) => pieceOf(shown).bytes)).toString('utf8')
  if (prompt.type === 'text' || !text.endsWith(output)) throw withoutPrompt()
  return output
}

/**
 * The part of the prompt that each token covers: an empty one for a first token that the tokenizer has added. If several tokens make one
 * character, the last of them gets it.
 */
function piecesOf(texts: readonly string[], prompt: Prompt): readonly string[] {
  if (prompt.type !== 'text') return texts
  const { text: whole } = prompt
  const pieces: string[] = []
  let at = 0
  for (const [index, text] of texts.entries()) {
    const next = texts[index + 1]
    const isAdded = index === 0 && !whole.startsWith(text)
    const isPart = isIncomplete(text) && !whole.startsWith(text, at)
    const end = isAdded ? at : isPart ? endOfPart(whole, at, next) : at + text.length
    pieces.push(whole.slice(at, end))
    at = end
  }
  return pieces
}

/** Where the incomplete characters before `next` end. */
function endOfPart(whole: string, at: number, next: string | undefined): number {
  if (next === undefined) return whole.length
  if (isIncomplete(next)) return at
  const end = whole.indexOf(next, at)
  return end === -1 ? at : end
}

/** How vLLM and OpenAI show a token that is a part of a character. */
function isIncomplete(text: string): boolean {
  return text.includes('\ufffd') || text.startsWith('bytes:\\x')
}

function withoutPrompt(): UpstreamError {
  const message = 'the server behind this model has not sent the log-probabilities of the prompt'
  return new UpstreamError({ type: 'incomplete', saidDone: true }, message)
}
