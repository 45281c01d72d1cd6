import type { WireChoice } from '../../transport/wire-chunk.ts'
import { usualTags } from './reply-format.ts'

const [open, close] = [usualTags.open, usualTags.close.trim()]

/** `in-text`: the text closed a thought that it had not opened, so the prompt had, and the server does not tell thoughts apart. */
export type ThoughtsCome = 'in-text' | 'apart'

/** Notices how a server returns a thought. */
export class LeftThought {
  #tail = ''
  #isOver = false
  found: ThoughtsCome | undefined

  push({ text, reasoning, calls }: Pick<WireChoice, 'text' | 'reasoning' | 'calls'>): void {
    if (this.#isOver) return
    this.#tail += text
    const [opened, closed] = [this.#tail.indexOf(open), this.#tail.indexOf(close)]
    if (reasoning !== '') this.found = 'apart'
    else if (closed !== -1 && opened === -1) this.found = 'in-text'
    this.#isOver = this.found !== undefined || calls.length > 0 || opened !== -1
    // What is left may be the beginning of a tag.
    this.#tail = this.#tail.slice(-close.length)
  }
}
