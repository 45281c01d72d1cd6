import type {
  Code,
  CompileContext,
  Effects,
  Extension,
  HtmlExtension,
  State,
  Token,
  TokenizeContext,
  TokenType,
} from 'micromark-util-types'

declare module 'micromark-util-types' {
  interface TokenTypeMap {
    formula: 'formula'
    formulaBlock: 'formulaBlock'
  }
}

/**
 * A micromark extension for formulas: `\(…\)`, `\[…\]`, `$…$` and `$$…$$`, read before Markdown reads backslashes, underscores and stars,
 * and never in code. In the last block of an answer (`isLast`), a formula may lack its end.
 */
export function formulas(isLast: boolean): Extension {
  const text = { name: 'formula', tokenize: textTokenizer(isLast, new Map()) }
  const flow = { name: 'formulaBlock', concrete: true, tokenize: blockTokenizer(isLast, new Map()) }
  return { text: { [backslash]: text, [dollar]: text }, flow: { [backslash]: flow, [dollar]: flow } }
}

/** A formula becomes `code.formula`, whose text is what the model wrote, delimiters included. */
export const formulasHtml: HtmlExtension = {
  enter: {
    formula() {
      this.buffer()
    },
    formulaBlock() {
      this.lineEndingIfNeeded()
      this.buffer()
    },
  },
  exit: {
    formula(token) {
      this.resume()
      emitSource(this, token)
    },
    formulaBlock(token) {
      this.resume()
      emitSource(this, token)
      this.setData('slurpOneLineEnding', true)
    },
  },
}

function emitSource(compile: CompileContext, token: Token): void {
  compile.tag('<code class="formula">')
  compile.raw(compile.encode(compile.sliceSerialize(token)))
  compile.tag('</code>')
}

const backslash = 92
const dollar = 36
const openParenthesis = 40
const openBracket = 91
const closeBracket = 93

/** A longer one is text. */
const longestFormula = 2000

/** By the end of a formula: up to where it was not found. What begins before has no end either, and is not read again. */
type Unended = Map<string, number>

const isLineEnd = (code: Code): code is number => code !== null && code < -2
const isSpace = (code: Code) => code === -2 || code === -1 || code === 32
const textOf = (code: number) => (code < 0 ? ' ' : String.fromCodePoint(code))
const isLetterOrDigit = (code: Code) => code !== null && code > 0 && /[\p{L}\p{N}]/u.test(textOf(code))

/** `5, or 4 (in US`: begins as a number, has words, and nothing of TeX. */
function isPrice(body: string): boolean {
  return /^[\d.,]/.test(body) && /\p{L}{2,}/u.test(body) && !/[\\^_{}=]/.test(body)
}

/** Writes characters and line ends as tokens. */
class Writer {
  readonly #effects: Effects
  #isInData = false

  constructor(effects: Effects) {
    this.#effects = effects
  }

  take(code: Code): void {
    if (isLineEnd(code)) {
      this.endData()
      this.#effects.enter('lineEnding')
      this.#effects.consume(code)
      this.#effects.exit('lineEnding')
      return
    }
    if (!this.#isInData) this.#effects.enter('data')
    this.#isInData = true
    this.#effects.consume(code)
  }

  end(type: TokenType): void {
    this.endData()
    this.#effects.exit(type)
  }

  endData(): void {
    if (this.#isInData) this.#effects.exit('data')
    this.#isInData = false
  }
}

/** Formulas within a paragraph. */
function textTokenizer(isLast: boolean, unended: Unended) {
  return function tokenize(this: TokenizeContext, effects: Effects, ok: State, nok: State): State {
    const { previous } = this
    const offset = () => this.now().offset
    const begin = offset()
    const writer = new Writer(effects)
    let closing = ''
    let body = ''
    let last: Code = null

    return (code) => {
      if (code === dollar && (previous === dollar || previous === backslash)) return nok(code)
      effects.enter('formula')
      writer.take(code)
      if (code === backslash) return afterBackslash
      closing = '$'
      return afterDollar
    }

    function afterBackslash(code: Code) {
      if (code !== openParenthesis && code !== openBracket) return nok(code)
      closing = code === openParenthesis ? ')' : ']'
      if (begin < (unended.get(closing) ?? 0)) return nok(code)
      writer.take(code)
      return inside
    }

    function afterDollar(code: Code): State | undefined {
      if (code === dollar && closing === '$') {
        closing = '$$'
        writer.take(code)
        return afterDollar
      }
      if (code === dollar) return nok(code)
      // $HOME/$USER and US$5 are text.
      if (closing === '$' && (isSpace(code) || isLineEnd(code) || isLetterOrDigit(previous))) return nok(code)
      return inside(code)
    }

    function inside(code: Code): State | undefined {
      if (code === null) return atEnd(code)
      if (body.length > longestFormula) return noEnd(code)
      const isClosed = code === dollar && (closing === '$' || (closing === '$$' && last === dollar))
      take(code)
      if (code === backslash) return afterEscape
      return isClosed ? closed : inside
    }

    /** What follows a backslash ends nothing but `\(` and `\[`. */
    function afterEscape(code: Code): State | undefined {
      if (code === null || isLineEnd(code)) return inside(code)
      take(code)
      last = null
      return textOf(code) === closing && code !== dollar ? closed : inside
    }

    function take(code: number): void {
      body += textOf(code)
      last = code
      writer.take(code)
    }

    function closed(code: Code): State | undefined {
      const content = body.slice(0, closing === '$' ? -1 : -2)
      if (content.trim() === '') return nok(code)
      if (closing === '$' && (/\s$/.test(content) || isLetterOrDigit(code) || isPrice(content))) return nok(code)
      writer.end('formula')
      return ok(code)
    }

    function atEnd(code: Code): State | undefined {
      // Such as $5 and, or $MY_VARIABLE.
      const mayBeText = closing === '$' && (!/[\\^]/.test(body) || /^[\d.,]+\s/.test(body))
      if (!isLast || body.trim() === '' || mayBeText) return noEnd(code)
      writer.end('formula')
      return ok(code)
    }

    function noEnd(code: Code): State | undefined {
      unended.set(closing, offset())
      return nok(code)
    }
  }
}

/** `\[` or `$$` at the beginning of a line, up to its end, also over empty lines. */
function blockTokenizer(isLast: boolean, unended: Unended) {
  return function tokenize(this: TokenizeContext, effects: Effects, ok: State, nok: State): State {
    const { parser, interrupt } = this
    const now = () => this.now()
    const begin = now().offset
    const writer = new Writer(effects)
    let closer = dollar
    // A line that a list or a quote takes only because it follows their text is not theirs.
    const nextLine = {
      partial: true,
      tokenize: (_effects: Effects, yes: State, no: State): State => {
        return (code) => {
          writer.take(code)
          return (next) => (parser.lazy[now().line] ? no(next) : yes(next))
        }
      },
    }

    return (code) => {
      effects.enter('formulaBlock')
      writer.take(code)
      closer = code === dollar ? dollar : closeBracket
      return opened
    }

    function opened(code: Code) {
      if (code !== (closer === dollar ? dollar : openBracket) || begin < (unended.get(textOf(closer)) ?? 0)) return nok(code)
      writer.take(code)
      return inside
    }

    function inside(code: Code): State | undefined {
      if (code === null) return atEnd(code)
      if (isLineEnd(code)) {
        // It may interrupt a paragraph.
        if (interrupt === true) {
          writer.end('formulaBlock')
          return ok(code)
        }
        writer.endData()
        return effects.attempt(nextLine, inside, atEnd)(code)
      }
      writer.take(code)
      if (code === closer && closer === dollar) return maybeClosed
      return code === backslash ? afterBackslash : inside
    }

    function afterBackslash(code: Code): State | undefined {
      return code === closer && closer === closeBracket ? maybeClosed(code) : afterEscape(code)
    }

    function afterEscape(code: Code): State | undefined {
      if (code === null || isLineEnd(code)) return inside(code)
      writer.take(code)
      return inside
    }

    function maybeClosed(code: Code): State | undefined {
      if (code !== closer) return inside(code)
      writer.take(code)
      return closed
    }

    /** Punctuation may follow; with other text it is a paragraph, in which the formula is found as well. */
    function closed(code: Code): State | undefined {
      if (code === null || isLineEnd(code)) {
        writer.end('formulaBlock')
        return ok(code)
      }
      if (!isSpace(code) && !'.,;:'.includes(textOf(code))) return nok(code)
      writer.take(code)
      return closed
    }

    function atEnd(code: Code): State | undefined {
      if (!isLast) {
        unended.set(textOf(closer), now().offset)
        return nok(code)
      }
      writer.end('formulaBlock')
      return ok(code)
    }
  }
}
