/** The end of the last complete sentence or line of a text; 0 if there is none. */
export function sentenceEnd(text: string): number {
  const found = /^[\s\S]*(?:[.!?:](?=\s)|\n)/.exec(text.slice(-4000))
  return found === null ? 0 : Math.max(0, text.length - 4000) + found[0].length
}

/** Text to read aloud: without the signs of Markdown. */
export function spoken(text: string): string {
  return text
    .replace(/```[\s\S]*?(```|$)/g, ' (code) ')
    .replace(/[*_`#>|]+/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()
}
