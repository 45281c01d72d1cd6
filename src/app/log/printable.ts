/** Characters that a terminal interprets, breaks lines at, or uses to reorder text. */
const commands = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu
const shortForms = new Map([
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
])

/** A text as one harmless line for a terminal, from any author: logs, tables and messages quote callers and servers. */
export function printable(text: string): string {
  return text.replace(commands, (found) => shortForms.get(found) ?? escapeCode(found))
}

/** As `printable`, for a text whose line breaks are our own. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n')
}

/** As `printable`, for prose, such as a model's: line breaks, tabs and the direction of writing stay. */
export function printableProse(text: string): string {
  return text.replace(/[^\P{Cc}\n\t]/gu, escapeCode)
}

/** A line of JSON with these characters escaped in its strings, so that its content stays the same. */
export function printableJson(line: string): string {
  return line.replace(/[^\P{Cc}\n]|[\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, escapeCode)
}

function escapeCode(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
