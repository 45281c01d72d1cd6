const maxChars = 900

/** All faults of a body in one message, short enough to read. */
export function joinFaults([first = '', ...others]: readonly string[]): string {
  let text = first
  for (const [index, message] of others.entries()) {
    if (text.length + message.length > maxChars) return `${text}; and ${others.length - index} more`
    text += `; ${message}`
  }
  return text
}
