import { type Expression, partsOf } from './expression.ts'
import { parseGbnf } from './gbnf-syntax.ts'
import { GrammarError, withParam } from './grammar-error.ts'
import { isNullable, leadingNames, nullableRules } from './nullable.ts'
import { namesIn, prune } from './prune.ts'

const maxChars = 500_000
/** llama.cpp expands repetitions; the bound is on all elements after that. */
const maxElements = 500_000
/** llama.cpp refuses larger counts or silently removes them, and multiplies nested ones. */
const maxRepetitions = 2000
/** llama.cpp follows the first elements of rules recursively, on its own stack. */
const maxLeading = 2000
/** Each repetition that may be empty is one more stack for every token. */
const maxEmptyRepetitions = 64

/**
 * Checks that llama.cpp can run a grammar of a caller: well-formed, complete, without left recursion, with an end that can be
 * reached, and within limits. Throws `invalid-grammar`.
 */
export function checkGbnf(text: string, options: { readonly param?: string } = {}): void {
  withParam(options.param, () => {
    if (text.length > maxChars) fail(`it has ${text.length} characters; the most is ${maxChars}`)
    if (text.includes('\0')) fail('it contains a NUL character')
    checkRules(parseGbnf(text))
  })
}

function checkRules(rules: ReadonlyMap<string, Expression>): void {
  if (!rules.has('root')) fail("it has no rule 'root'")
  for (const [name, body] of rules) {
    const missing = namesIn(body).find((used) => !rules.has(used))
    if (missing !== undefined) fail(`the rule '${name}' uses '${missing}', which is not defined`)
  }
  const nullable = nullableRules(rules)
  let elements = 0
  for (const [name, body] of rules) {
    if (needsNul(body)) fail(`the rule '${name}' contains a NUL character, which no token has`)
    checkRepetitions(name, body, nullable)
    elements += countElements(body)
    if (elements > maxElements) fail(`it expands to more than ${maxElements} elements`)
  }
  checkLeftRecursion(rules, nullable)
  if (!prune(rules, 'root', new Map())) fail('none of its texts ends')
}

/** A NUL ends a text in llama.cpp; a set may contain it beside others. */
function needsNul(expression: Expression): boolean {
  if (expression.type === 'literal') return expression.text.includes('\0')
  if (expression.type === 'chars') return expression.set.every(([, last]) => last === 0)
  return partsOf(expression).some(needsNul)
}

function checkRepetitions(name: string, expression: Expression, nullable: ReadonlySet<string>): void {
  for (const part of partsOf(expression)) checkRepetitions(name, part, nullable)
  if (expression.type !== 'repeat') return
  const { part, min, max } = expression
  const times = max ?? min
  const inner = part.type === 'sequence' || part.type === 'choice' || part.type === 'repeat' ? countGroups(part) + 1 : 1
  if (times * inner > maxRepetitions) {
    fail(
      `the rule '${name}' repeats ${inner === 1 ? 'something' : `a group of ${inner} parts`} ${times} times; the most is ${maxRepetitions} together`,
    )
  }
  if (max !== undefined && max < min) fail(`the rule '${name}' repeats something at least ${min} and at most ${max} times`)
  if (!isNullable(part, nullable)) return
  if (max === undefined) fail(`the rule '${name}' repeats something that may be empty without an upper bound`)
  if (max > maxEmptyRepetitions)
    fail(`the rule '${name}' repeats something that may be empty ${max} times; the most is ${maxEmptyRepetitions}`)
}

/** The number of rules that llama.cpp makes of a group: one for each group, repetition and name in it. */
function countGroups(expression: Expression): number {
  const own = expression.type === 'rule' || expression.type === 'choice' || expression.type === 'sequence' ? 1 : 0
  const repeated = expression.type === 'repeat' ? (expression.max === undefined ? 1 : expression.max - expression.min) : 0
  return own + repeated + partsOf(expression).reduce((sum, part) => sum + countGroups(part), 0)
}

function countElements(expression: Expression): number {
  const inside = partsOf(expression).reduce((sum, part) => sum + countElements(part), 0)
  if (expression.type === 'repeat') return Math.max(1, expression.max ?? expression.min + 1) * inside + 1
  return expression.type === 'literal' ? expression.text.length : expression.type === 'chars' ? expression.set.length : inside + 1
}

function checkLeftRecursion(rules: ReadonlyMap<string, Expression>, nullable: ReadonlySet<string>): void {
  const leading = new Map([...rules].map(([name, body]) => [name, [...new Set(leadingNames(body, nullable))]]))
  const done = new Map<string, number>()
  for (const start of rules.keys()) {
    const path: { name: string; next: number; depth: number }[] = [{ name: start, next: 0, depth: 0 }]
    const open = new Set([start])
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const name = done.has(top.name) ? undefined : leading.get(top.name)?.[top.next++]
      if (name === undefined) {
        const depth = Math.max(top.depth, done.get(top.name) ?? 0)
        done.set(top.name, depth)
        open.delete(top.name)
        path.pop()
        const parent = path.at(-1)
        if (parent !== undefined) parent.depth = Math.max(parent.depth, depth + 1)
        if (depth > maxLeading) fail(`more than ${maxLeading} rules begin with one another`)
      } else if (open.has(name)) {
        fail(`the rule '${name}' begins with itself (left recursion); write it with the recursion at its end`)
      } else {
        open.add(name)
        path.push({ name, next: 0, depth: 0 })
      }
    }
  }
}

function fail(why: string): never {
  throw new GrammarError('invalid-grammar', `the grammar cannot be used: ${why}`)
}
