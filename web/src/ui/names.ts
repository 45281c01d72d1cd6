/**
 * A name from a model, a file or another person, for a sentence of the page: without the characters that set the direction of the following
 * text. One of them, U+202E, shows the rest of the sentence backwards.
 */
export function plainName(name: string): string {
  return name.replace(/[\u202A-\u202E\u2066-\u2069]/g, '')
}
