/** What a terminal obeys, breaks lines at, or shows in another order. */
const commands = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu
const shortForms = new Map([
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
])

/** A text as one line that a terminal only shows, whoever wrote it: in logs, tables and messages, which quote callers and servers. */
export function printable(text: string): string {
  return text.replace(commands, (found) => shortForms.get(found) ?? escapeCode(found))
}

/** The same for a text whose lines are our own. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n')
}

/** The same for prose, such as a model's: lines, tabs and the direction of writing stay. */
export function printableProse(text: string): string {
  return text.replace(/[^\P{Cc}\n\t]/gu, escapeCode)
}

/** A line of JSON with the same characters as escapes of its strings: the text stays what it is. */
export function printableJson(line: string): string {
  return line.replace(/[^\P{Cc}\n]|[\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, escapeCode)
}

function escapeCode(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
