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

/** Python's `str.swapcase`. */
export function swapCase(text: string): string {
  return text.replace(/\p{L}/gu, (letter) => (letter === letter.toUpperCase() ? letter.toLowerCase() : letter.toUpperCase()))
}

/** Python's `str.capitalize`. */
export function capitalize(text: string): string {
  return convertWords(text, (plain) => sliceText(plain, 0, 1).toUpperCase() + sliceText(plain, 1).toLowerCase())
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
