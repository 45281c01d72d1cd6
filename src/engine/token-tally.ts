/**
 * Hands each generated token out exactly once, with the text that it ends in, whatever is held back on the way. Lengths
 * are those of decoded text: a token may add none.
 */
export class TokenTally<T> {
  readonly #waiting: { readonly token: T; readonly start: number; readonly end: number }[] = []
  #written = 0
  #sent = 0

  /** A token was generated, and made this much text certain. */
  add(token: T, textLength: number): void {
    const start = this.#written
    this.#written += textLength
    this.#waiting.push({ token, start, end: this.#written })
  }

  /** This much text goes out: the tokens that end in it go with it. */
  send(textLength: number): T[] {
    this.#sent += textLength
    return this.#take(({ end }) => end <= this.#sent)
  }

  /** Nothing more goes out, because the text was cut: the tokens that began before the cut. Those behind it are no output. */
  cut(): T[] {
    return this.#take(({ start }) => start < this.#sent)
  }

  /** Nothing more is generated: the tokens that are left, such as a character's first half. */
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
