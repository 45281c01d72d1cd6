/**
 * Assigns each generated token to the piece of sent text in which it ends, exactly once, even if text is held back. Lengths are those of
 * decoded text: a token may add none.
 */
export class TokenTally<T> {
  readonly #waiting: { readonly token: T; readonly start: number; readonly end: number }[] = []
  #written = 0
  #sent = 0

  /** Adds a generated token that completed this much text. */
  add(token: T, textLength: number): void {
    const start = this.#written
    this.#written += textLength
    this.#waiting.push({ token, start, end: this.#written })
  }

  /** Returns the tokens that end in the next piece of sent text. */
  send(textLength: number): T[] {
    this.#sent += textLength
    return this.#take(({ end }) => end <= this.#sent)
  }

  /** After a stop sequence: returns the tokens that began before it. Later ones are not output. */
  cut(): T[] {
    return this.#take(({ start }) => start < this.#sent)
  }

  /** At the end of the output: returns the remaining tokens, such as a character's first half. */
  end(): T[] {
    return this.#take(() => true)
  }

  #take(isOut: (waiting: { readonly start: number; readonly end: number }) => boolean): T[] {
    let count = 0
    for (const waiting of this.#waiting) {
      if (!isOut(waiting)) break
      count += 1
    }
    return this.#waiting.splice(0, count).map(({ token }) => token)
  }
}
