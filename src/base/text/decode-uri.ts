/** A text without its escapes (`%20`); as it is, if they are not those of UTF-8. */
export function decodeUri(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
