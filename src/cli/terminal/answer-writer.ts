import { printableProse } from '../../app/log/printable.ts'

type Output = { write(text: string): unknown; readonly isTTY?: boolean }

/** Shows one answer while it is streamed. */
type AnswerWriter = {
  text(piece: string): void
  reasoning(piece: string): void
  /** Ends the current line, if any. */
  end(): void
  /** A dimmed line for the user of a terminal; without a text, nothing. */
  note(text: string | undefined): void
}

/**
 * Writes the text, and only the text, to `out`; without control sequences for a terminal. Writes reasoning to `err` if that is a terminal,
 * dimmed unless `NO_COLOR` is set.
 */
export function createAnswerWriter({ out, err }: { readonly out: Output; readonly err: Output }): AnswerWriter {
  const dim = (process.env.NO_COLOR ?? '') !== '' ? (piece: string) => piece : (piece: string) => `\u001B[2m${piece}\u001B[22m`
  let line: Output | undefined
  const begin = (output: Output) => {
    // On a terminal both share the screen; a file contains only the model's text.
    if (line !== output && line?.isTTY === true) line.write('\n')
    line = output
  }
  return {
    text(piece) {
      begin(out)
      out.write(out.isTTY === true ? printableProse(piece) : piece)
    },
    reasoning(piece) {
      if (err.isTTY !== true) return
      begin(err)
      err.write(dim(printableProse(piece)))
    },
    end() {
      line?.write('\n')
      line = undefined
    },
    note(text) {
      if (err.isTTY === true && text !== undefined) err.write(`${dim(text)}\n`)
    },
  }
}
