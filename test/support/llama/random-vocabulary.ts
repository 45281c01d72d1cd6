import type { GgufValue } from './gguf-writer.ts'

/** What a GGUF file says of a byte-level BPE tokenizer: parallel arrays by token id, and the merges by rank. */
export type Vocabulary = {
  readonly tokens: readonly string[]
  readonly types: readonly number[]
  readonly merges: readonly string[]
}

const tokenTypes = { normal: 1, control: 3, userDefined: 4 } as const
const mostMerges = 512

/** Control tokens first (ids 0-2), as SmolLM2 has them. */
const controlTokens = ['<|endoftext|>', '<|im_start|>', '<|im_end|>']
const userDefinedTokens = ['<tool_call>', '</tool_call>', '<think>', '</think>']

const words = `
  the of and to in is that for it as was with be by on not he his but at are this have from or had an they which one you were all
  her she there would their we him been has when who will no more if out so up said what its about than into them can only other
  time new some could these two may first then do any like my now over such our man me even most made after also did many off
  before must well back through years much where your way down should because long each just state people those too here make
  world still see own work men day get came life year being good came another know old great hello weather tool assistant user
  system function name arguments string number true false null answer question please write read list file city today thank
`

/**
 * Beginnings of characters that are merged although the whole character is not, so that a character spans tokens: the first two
 * bytes of many CJK and punctuation characters. Four-byte characters (emoji) are left as four byte tokens.
 */
const partialCharacters = ['e4b8', 'e4ba', 'e69c', 'e697', 'e381', 'e382', 'e280', 'd0b0'].map((hex) => Buffer.from(hex, 'hex'))

/** A vocabulary of 256 bytes and a limited number of merges, the same on every machine; `moreControlTokens` come last. */
export function randomVocabulary(moreControlTokens: readonly string[] = [], mergeCount = mostMerges): Vocabulary {
  const merges = learnMerges(mergeCount)
  const pieces = new Set([...byteSymbols, ...merges.map(([left, right]) => left + right)])
  const tokens = [...controlTokens, ...pieces, ...userDefinedTokens, ...moreControlTokens]
  const types = [
    ...controlTokens.map(() => tokenTypes.control),
    ...[...pieces].map(() => tokenTypes.normal),
    ...userDefinedTokens.map(() => tokenTypes.userDefined),
    ...moreControlTokens.map(() => tokenTypes.control),
  ]
  return { tokens, types, merges: merges.map((pair) => pair.join(' ')) }
}

/** The metadata of the vocabulary in a model's file. */
export function vocabularyMetadata({ tokens, types, merges }: Vocabulary): [string, GgufValue][] {
  return [
    ['tokenizer.ggml.model', { type: 'string', value: 'gpt2' }],
    ['tokenizer.ggml.pre', { type: 'string', value: 'smollm' }],
    ['tokenizer.ggml.tokens', { type: 'strings', value: tokens }],
    ['tokenizer.ggml.token_type', { type: 'int32s', value: types }],
    ['tokenizer.ggml.merges', { type: 'strings', value: merges }],
  ]
}

/** GPT-2's byte-to-unicode table: printable Latin-1 stands for itself, each other byte for the next character from U+0100. */
const byteSymbols: readonly string[] = (() => {
  const symbols: string[] = []
  let unprintable = 0
  for (let byte = 0; byte < 256; byte++) {
    const printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae
    symbols.push(String.fromCodePoint(printable ? byte : 256 + unprintable++))
  }
  return symbols
})()

/** Plain BPE training: merge the most frequent neighbours (the first seen wins a tie) until there are enough merges. */
function learnMerges(mergeCount: number): [left: string, right: string][] {
  const list = words.trim().split(/\s+/)
  const sample = [...list.map((word) => ` ${word}`), ...list, ' café', ' naïve', ' für', '  ', '    ', '\n\n']
  const texts = sample.map((text) => toSymbols(Buffer.from(text)))
  const merges = partialCharacters.map(toSymbols).map(([left = '', right = '']): [string, string] => [left, right])
  while (merges.length < mergeCount) {
    const pair = mostFrequentPair(texts)
    if (pair === undefined) break
    merges.push(pair)
    for (const symbols of texts) mergePair(symbols, pair)
  }
  return merges
}

function mostFrequentPair(texts: readonly string[][]): [string, string] | undefined {
  const counts = new Map<string, { pair: [string, string]; count: number }>()
  for (const symbols of texts) {
    for (let index = 1; index < symbols.length; index++) {
      const pair: [string, string] = [symbols[index - 1] ?? '', symbols[index] ?? '']
      const entry = counts.get(pair.join(' '))
      if (entry === undefined) counts.set(pair.join(' '), { pair, count: 1 })
      else entry.count++
    }
  }
  let best: { pair: [string, string]; count: number } | undefined
  for (const entry of counts.values()) if (best === undefined || entry.count > best.count) best = entry
  return best?.pair
}

function mergePair(symbols: string[], [left, right]: [string, string]): void {
  for (let index = 1; index < symbols.length; index++) {
    if (symbols[index - 1] === left && symbols[index] === right) symbols.splice(index - 1, 2, left + right)
  }
}

function toSymbols(bytes: Uint8Array): string[] {
  return Array.from(bytes, (byte) => byteSymbols[byte] ?? '')
}
