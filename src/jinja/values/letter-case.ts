import { convertWords } from './foreign-text.ts'
import { sliceText } from './text.ts'

/** Python's `str.islower`. */
export function isLower(text: string): boolean {
  return /\p{Ll}/u.test(text) && !/[\p{Lu}\p{Lt}]/u.test(text)
}

/** Python's `str.isupper`. */
export function isUpper(text: string): boolean {
  return /\p{Lu}/u.test(text) && !/\p{Ll}/u.test(text)
}

/** Python's `str.capitalize`. */
export function capitalize(text: string): string {
  return convertWords(text, (plain) => titleLetter(sliceText(plain, 0, 1)) + sliceText(plain, 1).toLowerCase())
}

/** Python's `str.title`. */
export function titleCase(text: string): string {
  return text.replace(/\p{L}+/gu, capitalize)
}

/** Whether all characters match, and there is one. */
export function every(text: string, pattern: RegExp): boolean {
  for (const character of text) if (!pattern.test(character)) return false
  return text !== ''
}

/** Letters that are two, as they begin a word. */
const digraphs: readonly (readonly [letters: string, title: string])[] = [
  ['ǆǅǄ', 'ǅ'],
  ['ǉǈǇ', 'ǈ'],
  ['ǌǋǊ', 'ǋ'],
  ['ǳǲǱ', 'ǲ'],
]

/** A letter as it begins a word: of several capitals, such as those of ß, only the first stays. */
function titleLetter(letter: string): string {
  const digraph = digraphs.find(([letters]) => letter !== '' && letters.includes(letter))
  if (digraph !== undefined) return digraph[1]
  const upper = letter.toUpperCase()
  return sliceText(upper, 0, 1) + sliceText(upper, 1).toLowerCase()
}
