const maxChars = 900

/** All that is wrong with a body in one message, which stays short enough to be read. */
export function joinFaults([first = '', ...others]: readonly string[]): string {
  let text = first
  for (const [index, message] of others.entries()) {
    if (text.length + message.length > maxChars) return `${text}; and ${others.length - index} more`
    text += `; ${message}`
  }
  return text
}
