import type { Token } from '../../binding/tokenizer.ts'
import { type TokenBytes, tokenBytes, type VocabularyModel } from './vocabulary.ts'

/** The texts of a vocabulary as a tree of characters, whose nodes are in depth-first order. */
export type TokenTrie = {
  readonly codes: Int32Array
  readonly depths: Uint16Array
  /** The first node that is not below this one. */
  readonly ends: Int32Array
  /** The token whose text ends at a node; -1 for none. */
  readonly tokens: Int32Array
  /** For each token, another one of the same text; -1 for none. */
  readonly sameText: Int32Array
  readonly deepest: number
  /** Tokens that begin or end inside a character. */
  readonly broken: readonly TokenBytes[]
}

/** The trie of a model's tokens, except control tokens and those that end the turn. */
export function readTokenTrie(model: VocabularyModel): TokenTrie {
  const pieces: readonly unknown[] = model.fileInfo.metadata.tokenizer.ggml.tokens ?? []
  const texts: TokenBytes[] = []
  for (const token of model.iterateAllTokens()) {
    const { control, unknown } = model.getTokenAttributes(token)
    if (control || unknown || model.isEogToken(token)) continue
    texts.push({ token, bytes: tokenBytes(model, token, pieces[token]) })
  }
  return createTokenTrie(texts, pieces.length)
}

/** Tokens without a text, or with a NUL in it, are left out: a constrained output never contains them. */
export function createTokenTrie(given: readonly TokenBytes[], vocabularySize: number): TokenTrie {
  const whole: { readonly token: Token; readonly text: string }[] = []
  const broken: TokenBytes[] = []
  for (const { token, bytes } of given) {
    if (bytes.length === 0 || bytes.includes(0)) continue
    const text = wholeText(bytes)
    if (text === undefined) broken.push({ token, bytes })
    else whole.push({ token, text })
  }
  // Any order in which texts with a common beginning are neighbours.
  whole.sort((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : 0))
  const nodes: { code: number; depth: number; token: number }[] = []
  const sameText = new Int32Array(vocabularySize).fill(-1)
  let path: number[] = []
  for (const { token, text } of whole) {
    const codes = Array.from(text, (char) => char.codePointAt(0) ?? 0)
    let common = 0
    while (common < codes.length && common < path.length && codes[common] === path[common]) common++
    for (let depth = common; depth < codes.length; depth++) nodes.push({ code: codes[depth] as number, depth, token: -1 })
    const last = nodes.at(-1)
    if (last !== undefined) {
      // Equal texts are neighbours, so the last node is the end of this text.
      sameText[token] = last.token
      last.token = token
    }
    path = codes
  }
  return { ...packed(nodes), sameText, broken }
}

function packed(
  nodes: readonly { readonly code: number; readonly depth: number; readonly token: number }[],
): Omit<TokenTrie, 'sameText' | 'broken'> {
  const ends = new Int32Array(nodes.length)
  const open: number[] = []
  for (const [index, { depth }] of nodes.entries()) {
    while (open.length > depth) ends[open.pop() as number] = index
    open.push(index)
  }
  for (const index of open) ends[index] = nodes.length
  return {
    codes: Int32Array.from(nodes, ({ code }) => code),
    depths: Uint16Array.from(nodes, ({ depth }) => depth),
    ends,
    tokens: Int32Array.from(nodes, ({ token }) => token),
    deepest: nodes.reduce((most, { depth }) => Math.max(most, depth), 0),
  }
}

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function wholeText(bytes: Uint8Array): string | undefined {
  try {
    return strict.decode(bytes)
  } catch {
    // Not whole characters.
    return undefined
  }
}
