import { inEitherCase } from '../regex/letter-case.ts'
import { regexExpression } from '../regex/regex-grammar.ts'
import { parseRegex } from '../regex/regex-syntax.ts'
import { charSet, charsOf } from '../rules/char-set.ts'
import { checkGbnf } from '../rules/check-gbnf.ts'
import { chars, choiceOf, type Expression, literal, repeat, rule, sequence, sequenceOf } from '../rules/expression.ts'
import { GrammarError, withParam } from '../rules/grammar-error.ts'
import { defaultLimits, type GrammarLimits } from '../rules/limits.ts'
import { nullableRules } from '../rules/nullable.ts'
import { prune } from '../rules/prune.ts'
import { RuleBook } from '../rules/rule-book.ts'
import { EmptyTexts } from './empty-texts.ts'
import { type LarkGrammar, type LarkTree, parseLark } from './lark-syntax.ts'
import { withoutLeftRecursion } from './left-recursion.ts'

type LarkOptions = { readonly param?: string; readonly limits?: Partial<GrammarLimits> }

/**
 * The GBNF for the texts that a grammar in Lark's language allows from its rule `start`, read as a context-free grammar: a lexer's
 * preference among terminals is ignored. Throws as `parseLark` does, or when the grammar is too large or has no finite text.
 */
export function larkToGbnf(text: string, { param, limits = {} }: LarkOptions = {}): string {
  return withParam(param, () => {
    const gbnf = write(parseLark(text), new RuleBook({ ...defaultLimits, ...limits }))
    checkGbnf(gbnf)
    return gbnf
  })
}

function write(grammar: LarkGrammar, book: RuleBook): string {
  const root = book.reserve('root')
  const { rules, start } = new LarkWriter(grammar, book).write()
  const everyRule = new Map([...book.rules, ...rules])
  const nullable = nullableRules(everyRule)
  const emptyTexts = new EmptyTexts(book, nullable)
  const bodies = withoutLeftRecursion(rules, { nullable, emptyTexts, spend: (effort) => book.spend(effort) })
  for (const [name, body] of bodies) book.fill(name, emptyTexts.rewrite(body))
  book.fill(root, start)
  emptyTexts.fill((name) => bodies.get(name) ?? book.rules.get(name))
  const kept = new Map<string, Expression>()
  if (!prune(book.rules, root, kept))
    throw new GrammarError('invalid-grammar', 'the grammar cannot be used: none of its texts ends')
  return [...kept].map(([name, body]) => `${name} ::= ${book.textOf(body)}\n`).join('')
}

/** Writes definitions as rules, which may still begin with themselves and repeat what is empty. */
class LarkWriter {
  readonly #grammar: LarkGrammar
  readonly #book: RuleBook
  readonly #names: ReadonlyMap<string, string>
  /** The rule of what may follow each terminal, if anything. */
  readonly #ignored: string | undefined

  constructor(grammar: LarkGrammar, book: RuleBook) {
    this.#grammar = grammar
    this.#book = book
    this.#names = new Map([...grammar.definitions.keys()].map((name) => [name, book.reserve(name)]))
    this.#ignored = grammar.ignored.length === 0 ? undefined : book.reserve('ignored')
  }

  write(): { readonly rules: ReadonlyMap<string, Expression>; readonly start: Expression } {
    const { definitions, ignored } = this.#grammar
    const start = this.#names.get('start')
    if (start === undefined) throw new GrammarError('invalid-grammar', "the grammar has no rule 'start'")
    const rules = new Map<string, Expression>()
    for (const [name, tree] of definitions) rules.set(this.#names.get(name) ?? name, this.#expression(tree, isTerminal(name)))
    if (this.#ignored === undefined) return { rules, start: rule(start) }
    rules.set(this.#ignored, repeat(choiceOf(ignored.map((tree) => this.#expression(tree, true))), 0))
    return { rules, start: sequence(rule(this.#ignored), rule(start)) }
  }

  #expression(tree: LarkTree, isInTerminal: boolean): Expression {
    switch (tree.type) {
      case 'sequence':
        return sequenceOf(tree.parts.map((part) => this.#expression(part, isInTerminal)))
      case 'choice':
        return choiceOf(tree.options.map((option) => this.#expression(option, isInTerminal)))
      case 'repeat':
        return repeat(this.#expression(tree.part, isInTerminal), tree.min, tree.max)
      case 'name': {
        const name = this.#names.get(tree.name)
        if (name === undefined) throw invalid(tree.line, `'${tree.name}' is not defined`)
        return isInTerminal || !isTerminal(tree.name) ? rule(name) : this.#token(rule(name))
      }
      case 'text':
        return isInTerminal ? textOf(tree) : this.#token(textOf(tree))
      case 'range':
        return isInTerminal ? rangeOf(tree) : this.#token(rangeOf(tree))
      case 'regex':
        return isInTerminal ? this.#regex(tree) : this.#token(this.#regex(tree))
    }
  }

  /** In rules, what is ignored may follow each terminal; inside a terminal, nothing is ignored. */
  #token(terminal: Expression): Expression {
    return this.#ignored === undefined ? terminal : sequence(terminal, rule(this.#ignored))
  }

  #regex({ source, flags, line }: Extract<LarkTree, { type: 'regex' }>): Expression {
    const unknown = /[^isu]/.exec(flags)
    if (unknown !== null) throw invalid(line, `the flag '${unknown[0]}' of a regular expression cannot be used; i, s and u can`)
    const lineEnds = flags.includes('s') ? [] : charsOf('\n')
    return this.#book.once(
      `regex ${flags} ${source}`,
      () => regexExpression(this.#book, parseRegex(source, { lineEnds, ignoreCase: flags.includes('i') }), 'regex'),
      'regex',
    )
  }
}

function isTerminal(name: string): boolean {
  return /^_?[A-Z]/.test(name)
}

function textOf({ text, ignoreCase }: Extract<LarkTree, { type: 'text' }>): Expression {
  return ignoreCase ? sequenceOf([...text].map((char) => chars(inEitherCase(charsOf(char))))) : literal(text)
}

function rangeOf({ first, last }: Extract<LarkTree, { type: 'range' }>): Expression {
  return chars(charSet([first, last]))
}

function invalid(line: number, what: string): GrammarError {
  return new GrammarError('invalid-grammar', `the grammar cannot be used, line ${line}: ${what}`)
}
