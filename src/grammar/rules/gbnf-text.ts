import { type CharSet, charsOf } from './char-set.ts'
import { choiceOf, type Expression, rule, sequenceOf } from './expression.ts'
import { parseGbnf } from './gbnf-syntax.ts'
import type { RuleBook } from './rule-book.ts'

/**
 * The keyword of a string's schema whose text must match a grammar; the value is GBNF. It is ours: JSON Schema has no keyword for
 * context-free languages.
 */
export const gbnfKeyword = 'x-dragoman-gbnf'

/** The texts of a grammar that was checked, with each character as `spell` writes it. */
export function gbnfText(book: RuleBook, gbnf: string, spell: (set: CharSet) => Expression): Expression {
  const rules = parseGbnf(gbnf)
  const names = new Map([...rules.keys()].map((name) => [name, book.reserve(name === 'root' ? 'text' : name)]))
  for (const [name, body] of rules) book.fill(nameOf(name), spelled(body))
  return rule(nameOf('root'))

  function nameOf(name: string): string {
    return names.get(name) ?? name
  }

  function spelled(expression: Expression): Expression {
    switch (expression.type) {
      case 'literal':
        return sequenceOf(Array.from(expression.text, (char) => spell(charsOf(char))))
      case 'chars':
        return expression.set.length > 2 ? book.shared('chars', spell(expression.set)) : spell(expression.set)
      case 'rule':
        return rule(nameOf(expression.name))
      case 'sequence':
        return sequenceOf(expression.parts.map(spelled))
      case 'choice':
        return choiceOf(expression.options.map(spelled))
      case 'repeat':
        return book.repeat(spelled(expression.part), expression.min, expression.max)
    }
  }
}

/** A letter inside a GBNF set, in the spelling that never needs escapes. */
export function spellLetter(letter: string): string {
  return `\\U${(letter.codePointAt(0) ?? 0).toString(16).padStart(8, '0')}`
}
