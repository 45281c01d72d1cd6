import type { Expression } from './expression.ts'
import { findRules } from './find-rules.ts'

/** The rules that allow the empty text. */
export function nullableRules(rules: Iterable<readonly [string, Expression]>): ReadonlySet<string> {
  return findRules(rules, (leaf) => leaf.type === 'literal' && leaf.text === '')
}

/** Whether an expression allows the empty text. */
export function isNullable(expression: Expression, nullable: ReadonlySet<string>): boolean {
  switch (expression.type) {
    case 'literal':
      return expression.text === ''
    case 'chars':
      return false
    case 'rule':
      return nullable.has(expression.name)
    case 'sequence':
      return expression.parts.every((part) => isNullable(part, nullable))
    case 'choice':
      return expression.options.some((option) => isNullable(option, nullable))
    case 'repeat':
      return expression.min === 0 || isNullable(expression.part, nullable)
  }
}

/** The rules that a text of this expression may begin with. */
export function leadingNames(expression: Expression, nullable: ReadonlySet<string>): string[] {
  switch (expression.type) {
    case 'literal':
    case 'chars':
      return []
    case 'rule':
      return [expression.name]
    case 'choice':
      return expression.options.flatMap((option) => leadingNames(option, nullable))
    case 'repeat':
      return expression.max === 0 ? [] : leadingNames(expression.part, nullable)
    case 'sequence': {
      const solid = expression.parts.findIndex((part) => !isNullable(part, nullable))
      const first = solid === -1 ? expression.parts : expression.parts.slice(0, solid + 1)
      return first.flatMap((part) => leadingNames(part, nullable))
    }
  }
}
