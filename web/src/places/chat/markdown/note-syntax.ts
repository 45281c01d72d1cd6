import type { Code, Effects, Extension, HtmlExtension, State, TokenizeContext } from 'micromark-util-types'

declare module 'micromark-util-types' {
  interface TokenTypeMap {
    note: 'note'
  }
}

/**
 * A micromark extension for footnotes. `[^1]` is a number above the line, and `[^1]:` at the beginning of a line the same before the text of
 * the note. Those of GFM are off, and definitions of links: they need what refers to them in the same block, and vanish without it.
 */
export const notes: Extension = {
  text: { 91: { name: 'note', tokenize } },
  disable: { null: ['gfmFootnoteDefinition', 'gfmFootnoteCall', 'gfmPotentialFootnoteCall', 'definition'] },
}

/** The number is in `sup.md-note`, and in `sup.md-note-text` before the text of the note. */
export const notesHtml: HtmlExtension = {
  exit: {
    note(token) {
      const [, number = '', colon] = /^\[\^(\d+)\](:)?/.exec(this.sliceSerialize(token)) ?? []
      this.tag(colon === undefined ? '<sup class="md-note">' : '<sup class="md-note md-note-text">')
      this.raw(number)
      this.tag('</sup>')
    },
  },
}

const caret = 94
const colon = 58
const closeBracket = 93
const isDigit = (code: Code) => code !== null && code >= 48 && code <= 57

function tokenize(this: TokenizeContext, effects: Effects, ok: State, nok: State): State {
  const isAtLineStart = this.previous === null || this.previous < -2
  let digits = 0

  return (code) => {
    effects.enter('note')
    effects.consume(code)
    return afterBracket
  }

  function afterBracket(code: Code): State | undefined {
    if (code !== caret) return nok(code)
    effects.consume(code)
    return inNumber
  }

  function inNumber(code: Code): State | undefined {
    if (isDigit(code) && digits < 3) {
      digits += 1
      effects.consume(code)
      return inNumber
    }
    if (code !== closeBracket || digits === 0) return nok(code)
    effects.consume(code)
    return closed
  }

  function closed(code: Code): State | undefined {
    if (code === colon && isAtLineStart) {
      effects.consume(code)
      return end
    }
    return end(code)
  }

  function end(code: Code): State | undefined {
    effects.exit('note')
    return ok(code)
  }
}
