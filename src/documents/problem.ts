/** Why a file gives no text. */
export type DocumentReason =
  | 'encrypted'
  | 'damaged'
  /** It unpacks to more than `maxUnpackedBytes`, or has more text than `maxTextChars`. */
  | 'too-large'
  /** Its pages are pictures. */
  | 'no-text'
  /** A format of Office before 2007. */
  | 'old-office'
  | 'unknown'

/** The message continues "the file …". */
export class DocumentProblem extends Error {
  readonly reason: DocumentReason

  constructor(reason: DocumentReason, message: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'DocumentProblem'
    this.reason = reason
  }
}

export const maxUnpackedBytes = 100_000_000
/** More than the longest context of any model. */
export const maxTextChars = 10_000_000

/** The text of a document while it grows. */
export class DocumentText {
  text = ''

  /** Throws `too-large` beyond `maxTextChars`. */
  add(piece: string): void {
    this.text += piece
    if (this.text.length <= maxTextChars) return
    throw new DocumentProblem('too-large', `has more than ${maxTextChars} characters of text: send a part of it`)
  }

  /** Without spaces at the ends of lines, and without several empty lines in a row. */
  get clean(): string {
    const lines = this.text.split('\n').map((line) => line.trimEnd())
    return lines
      .filter((line, index) => line !== '' || (index > 0 && lines[index - 1] !== ''))
      .join('\n')
      .trim()
  }
}
