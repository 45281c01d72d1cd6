import { isSpace } from './text-feed.ts'

/**
 * Removes the Markdown fence around an answer in JSON, and white space at both ends. Text inside leaves as it arrives, except a possible
 * end of the fence. Text after the fence stays; the fence itself does not.
 */
export class JsonFence {
  #state: 'before' | 'bare' | 'fenced' = 'before'
  #held = ''

  /** The text that is now certain. */
  push(piece: string): string {
    if (this.#state !== 'before' && isBlank(piece)) {
      this.#held += piece
      return ''
    }
    let text = this.#held + piece
    if (this.#state === 'before') {
      text = text.trimStart()
      const fence = /^```[ \t]*(?:json)?[ \t]*\r?\n/i.exec(text)
      if (fence === null && mayBeFence(text)) {
        this.#held = text
        return ''
      }
      this.#state = fence === null ? 'bare' : 'fenced'
      text = text.slice(fence?.[0].length ?? 0)
    }
    // Strings in JSON contain no line breaks, so a line of its own is the fence.
    const closing = this.#state === 'fenced' ? /\r?\n[ \t]*```[ \t]*(?=\r?\n[ \t\r\n]*[^ \t\r\n])/.exec(text) : null
    if (closing !== null) {
      this.#state = 'bare'
      text = text.slice(0, closing.index) + text.slice(closing.index + closing[0].length)
    }
    const end = endOfContent(text, this.#state === 'fenced')
    this.#held = text.slice(end)
    return text.slice(0, end)
  }

  /** Ends a text: returns held text that turned out to be text. Another text may follow. */
  end(): string {
    const held = this.#held
    const closed = this.#state === 'fenced' && held.trim() === '```'
    this.#held = ''
    this.#state = 'before'
    return closed || isBlank(held) ? '' : held
  }
}

function mayBeFence(text: string): boolean {
  return text === '' || '```'.startsWith(text) || /^```[ \t]*j?s?o?n?[ \t]*\r?$/i.test(text)
}

/** The start of the white space at the end, and in a fence of the closing backticks in front of it. */
function endOfContent(text: string, fenced: boolean): number {
  let end = skipSpaceBack(text, text.length)
  if (!fenced) return end
  const ticksEnd = end
  while (end > 0 && ticksEnd - end < 3 && text[end - 1] === '`') end -= 1
  return end === ticksEnd ? end : skipSpaceBack(text, end)
}

function skipSpaceBack(text: string, from: number): number {
  let at = from
  while (at > 0 && isSpace(text[at - 1] as string)) at -= 1
  return at
}

function isBlank(text: string): boolean {
  return skipSpaceBack(text, text.length) === 0
}
