import { choiceOf, type Expression, never, rule, sequenceOf } from '../rules/expression.ts'
import { isNullable } from '../rules/nullable.ts'
import type { RuleBook } from '../rules/rule-book.ts'

/** Rewrites expressions that repeat what may be empty, which GBNF does not allow. */
export class EmptyTexts {
  readonly #book: RuleBook
  readonly #nullable: ReadonlySet<string>
  /** The rule for the texts of another rule without the empty one. */
  readonly #solid = new Map<string, string>()
  readonly #toWrite: string[] = []

  /** `nullable`: the rules that allow the empty text. */
  constructor(book: RuleBook, nullable: ReadonlySet<string>) {
    this.#book = book
    this.#nullable = nullable
  }

  isNullable(expression: Expression): boolean {
    return isNullable(expression, this.#nullable)
  }

  /** The same texts, repeating only what is not empty. */
  rewrite(expression: Expression): Expression {
    switch (expression.type) {
      case 'literal':
      case 'chars':
      case 'rule':
        return expression
      case 'sequence':
        return sequenceOf(expression.parts.map((part) => this.rewrite(part)))
      case 'choice':
        return choiceOf(expression.options.map((option) => this.rewrite(option)))
      case 'repeat': {
        const { part, min, max } = expression
        const isEmptied = this.isNullable(part)
        return this.#book.repeat(isEmptied ? this.solid(part) : this.rewrite(part), isEmptied ? 0 : min, max)
      }
    }
  }

  /** The same texts without the empty one. The rules that this adds are written by `fill`. */
  solid(expression: Expression): Expression {
    this.#book.spend(1)
    if (!this.isNullable(expression)) return this.rewrite(expression)
    switch (expression.type) {
      case 'literal':
      case 'chars':
        return never
      case 'rule':
        return rule(this.#solidRule(expression.name))
      case 'choice':
        return choiceOf(expression.options.map((option) => this.solid(option)))
      case 'sequence': {
        const parts = expression.parts.map((part) => this.rewrite(part))
        // The first part that is not empty, and what follows.
        return choiceOf(
          expression.parts.map((part, index) => {
            this.#book.spend(parts.length - index)
            return sequenceOf([this.solid(part), ...parts.slice(index + 1)])
          }),
        )
      }
      case 'repeat': {
        const { part, max } = expression
        return this.#book.repeat(this.solid(part), 1, max)
      }
    }
  }

  /** Writes the rules that `solid` has added. */
  fill(bodyOf: (name: string) => Expression | undefined): void {
    for (let name = this.#toWrite.pop(); name !== undefined; name = this.#toWrite.pop()) {
      this.#book.fill(this.#solidRule(name), this.solid(bodyOf(name) ?? never))
    }
  }

  #solidRule(name: string): string {
    const known = this.#solid.get(name)
    if (known !== undefined) return known
    const made = this.#book.reserve(`${name}-some`)
    this.#solid.set(name, made)
    this.#toWrite.push(name)
    return made
  }
}
