/** The start of a text of at most `maxLength` UTF-16 units, without splitting the last character. */
export function startOf(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text
  return text.slice(0, /[\uD800-\uDBFF]/.test(text[maxLength - 1] ?? '') ? maxLength - 1 : maxLength)
}
