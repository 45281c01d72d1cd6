/** Where something is shown, such as standard output. */
export type Output = { write(text: string): unknown; readonly isTTY?: boolean }

/** Shows one answer as it comes. */
export type AnswerWriter = {
  text(piece: string): void
  reasoning(piece: string): void
  /** Ends the line that was begun, if any. */
  end(): void
}

/**
 * Text goes to `out`, and nothing else does. Reasoning is for whoever waits for the text: it goes to `err`, dimmed (unless
 * `NO_COLOR` is set), where that is a terminal.
 */
export function createAnswerWriter({ out, err }: { readonly out: Output; readonly err: Output }): AnswerWriter {
  const dim = process.env.NO_COLOR ? (piece: string) => piece : (piece: string) => `\u001B[2m${piece}\u001B[22m`
  let line: Output | undefined
  const begin = (output: Output) => {
    // On a terminal both are the same screen; in a file the answer has no line that the model did not write.
    if (line !== output && line?.isTTY === true) line.write('\n')
    line = output
  }
  return {
    text(piece) {
      begin(out)
      out.write(piece)
    },
    reasoning(piece) {
      if (err.isTTY !== true) return
      begin(err)
      err.write(dim(piece))
    },
    end() {
      line?.write('\n')
      line = undefined
    },
  }
}
