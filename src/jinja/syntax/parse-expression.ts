import type { Arguments, BinaryOperator, CompareOperator, Comparison, Expression } from './syntax.ts'
import type { TokenCursor } from './token-cursor.ts'

/** The names of the filters and tests that exist. */
export type Known = { readonly filters: ReadonlySet<string>; readonly tests: ReadonlySet<string> }

export type ExpressionParser = ReturnType<typeof createExpressionParser>

/** Parses the expressions of jinja2 3.1, with one function for each level of precedence. */
export function createExpressionParser(cursor: TokenCursor, known: Known) {
  /** `conditional: false` leaves a following `if` to the statement, as in `for x in y if z`. */
  function parseExpression({ conditional = true } = {}): Expression {
    return conditional ? parseConditional() : parseOr()
  }

  function parseConditional(): Expression {
    const unknownBefore = cursor.unknown.length
    let value = parseOr()
    while (cursor.skip('name', 'if')) {
      const test = parseOr()
      const otherwise = cursor.skip('name', 'else') ? parseConditional() : undefined
      value = { type: 'conditional', test, value, otherwise }
      // Unknown filters inside a conditional fail only when they are reached.
      cursor.unknown.length = unknownBefore
    }
    return value
  }

  function parseOr(): Expression {
    let left = parseAnd()
    while (cursor.skip('name', 'or')) left = { type: 'or', left, right: parseAnd() }
    return left
  }

  function parseAnd(): Expression {
    let left = parseNot()
    while (cursor.skip('name', 'and')) left = { type: 'and', left, right: parseNot() }
    return left
  }

  function parseNot(): Expression {
    if (cursor.skip('name', 'not')) return { type: 'unary', operator: 'not', operand: parseNot() }
    return parseCompare()
  }

  function parseCompare(): Expression {
    const left = parseSum()
    const rest: Comparison[] = []
    for (;;) {
      const operator = readComparison()
      if (operator === undefined) return rest.length === 0 ? left : { type: 'compare', left, rest }
      rest.push({ operator, right: parseSum() })
    }
  }

  function readComparison(): CompareOperator | undefined {
    if (cursor.isOperator('==', '!=', '<', '<=', '>', '>=')) return cursor.next().text as CompareOperator
    if (cursor.skip('name', 'in')) return 'in'
    if (!cursor.isName('not') || !cursor.is('name', 'in', 1)) return undefined
    cursor.next()
    cursor.next()
    return 'not in'
  }

  function parseSum(): Expression {
    let left = parseConcat()
    while (cursor.isOperator('+', '-')) left = { type: 'binary', operator: readOperator(), left, right: parseConcat() }
    return left
  }

  function parseConcat(): Expression {
    const items = [parseProduct()]
    while (cursor.skip('operator', '~')) items.push(parseProduct())
    const [only] = items
    return items.length === 1 && only !== undefined ? only : { type: 'concat', items }
  }

  function parseProduct(): Expression {
    let left = parsePower()
    while (cursor.isOperator('*', '/', '//', '%')) left = { type: 'binary', operator: readOperator(), left, right: parsePower() }
    return left
  }

  function parsePower(): Expression {
    let left = parseUnary()
    while (cursor.isOperator('**')) left = { type: 'binary', operator: readOperator(), left, right: parseUnary() }
    return left
  }

  function readOperator(): BinaryOperator {
    return cursor.next().text as BinaryOperator
  }

  function parseUnary(withFilters = true): Expression {
    const sign = cursor.isOperator('-', '+') ? (cursor.next().text as '-' | '+') : undefined
    const value: Expression = sign === undefined ? parsePrimary() : { type: 'unary', operator: sign, operand: parseUnary(false) }
    const whole = parsePostfix(value)
    return withFilters ? parseFilters(whole) : whole
  }

  function parsePrimary(): Expression {
    const token = cursor.current
    if (token.type === 'name') {
      cursor.next()
      return nameOf(token.text)
    }
    if (token.type === 'string') return parseStrings()
    if (token.type === 'integer' || token.type === 'float') {
      cursor.next()
      return { type: 'constant', value: token.value }
    }
    if (cursor.skip('operator', '(')) {
      const inner = parseTuple({ parentheses: true })
      cursor.expect('operator', ')')
      return inner
    }
    if (cursor.isOperator('[')) return parseList()
    if (cursor.isOperator('{')) return parseDict()
    return cursor.fail(`unexpected ${cursor.describe()}`)
  }

  function nameOf(name: string): Expression {
    if (name === 'true' || name === 'True') return { type: 'constant', value: true }
    if (name === 'false' || name === 'False') return { type: 'constant', value: false }
    if (name === 'none' || name === 'None') return { type: 'constant', value: null }
    cursor.mentions.add(name)
    return { type: 'name', name }
  }

  /** Adjacent string literals are one. */
  function parseStrings(): Expression {
    let value = ''
    for (let token = cursor.current; token.type === 'string'; token = cursor.current) {
      value += token.value
      cursor.next()
    }
    return { type: 'constant', value }
  }

  /** A tuple needs no brackets; one expression without a comma is not a tuple. */
  function parseTuple({ conditional = true, parentheses = false, ends = [] as readonly string[] } = {}): Expression {
    const items: Expression[] = []
    let comma = false
    for (;;) {
      const ended = cursor.is('variable-end') || cursor.is('block-end') || cursor.isOperator(')') || cursor.isName(...ends)
      if (ended) break
      items.push(parseExpression({ conditional }))
      if (!cursor.isOperator(',')) break
      comma = true
      cursor.next()
    }
    const [only] = items
    if (!comma && only !== undefined) return only
    if (!comma && !parentheses) return cursor.fail(`expected an expression, got ${cursor.describe()}`)
    return { type: 'tuple', items }
  }

  function parseList(): Expression {
    cursor.expect('operator', '[')
    const items: Expression[] = []
    while (!cursor.isOperator(']')) {
      if (items.length > 0) cursor.expect('operator', ',')
      if (cursor.isOperator(']')) break
      items.push(parseExpression())
    }
    cursor.expect('operator', ']')
    return { type: 'list', items }
  }

  function parseDict(): Expression {
    cursor.expect('operator', '{')
    const pairs: [Expression, Expression][] = []
    while (!cursor.isOperator('}')) {
      if (pairs.length > 0) cursor.expect('operator', ',')
      if (cursor.isOperator('}')) break
      const key = parseExpression()
      cursor.expect('operator', ':')
      pairs.push([key, parseExpression()])
    }
    cursor.expect('operator', '}')
    return { type: 'dict', pairs }
  }

  function parsePostfix(start: Expression): Expression {
    let value = start
    for (;;) {
      if (cursor.skip('operator', '.')) value = parseMember(value)
      else if (cursor.isOperator('[')) value = parseSubscript(value)
      else if (cursor.isOperator('(')) value = { type: 'call', callee: value, args: parseArguments() }
      else return value
    }
  }

  function parseMember(of: Expression): Expression {
    const token = cursor.next()
    if (token.type === 'name') return { type: 'attribute', of, name: token.text }
    if (token.type === 'integer') return { type: 'item', of, key: { type: 'constant', value: token.value } }
    return cursor.fail('expected a name or a number')
  }

  function parseSubscript(of: Expression): Expression {
    cursor.expect('operator', '[')
    if (cursor.skip('operator', ']')) return { type: 'item', of, key: { type: 'tuple', items: [] } }
    const start = cursor.isOperator(':') ? undefined : parseExpression()
    if (!cursor.skip('operator', ':')) {
      const items = start === undefined ? [] : [start]
      while (cursor.skip('operator', ',')) items.push(parseExpression())
      cursor.expect('operator', ']')
      const [only] = items
      return { type: 'item', of, key: items.length === 1 && only !== undefined ? only : { type: 'tuple', items } }
    }
    const stop = cursor.isOperator(':', ']') ? undefined : parseExpression()
    const step = cursor.skip('operator', ':') && !cursor.isOperator(']') ? parseExpression() : undefined
    cursor.expect('operator', ']')
    return { type: 'slice', of, start, stop, step }
  }

  function parseArguments(): Arguments {
    cursor.expect('operator', '(')
    const positional: Expression[] = []
    const named: [string, Expression][] = []
    let spread: Expression | undefined
    let spreadNamed: Expression | undefined
    while (!cursor.isOperator(')')) {
      const token = cursor.current
      if (cursor.skip('operator', '*')) spread = parseExpression()
      else if (cursor.skip('operator', '**')) spreadNamed = parseExpression()
      else if (token.type === 'name' && cursor.is('operator', '=', 1)) {
        cursor.next()
        cursor.next()
        named.push([token.text, parseExpression()])
      } else if (named.length > 0 || spread !== undefined || spreadNamed !== undefined) {
        cursor.fail('invalid syntax for a function call: positional arguments come first')
      } else positional.push(parseExpression())
      if (!cursor.isOperator(')')) cursor.expect('operator', ',')
    }
    cursor.expect('operator', ')')
    return { positional, named, spread, spreadNamed }
  }

  function parseFilters(start: Expression): Expression {
    let value = start
    for (;;) {
      if (cursor.isOperator('|')) value = parseFilterChain(value)
      else if (cursor.isName('is')) value = parseTest(value)
      else if (cursor.isOperator('(')) value = { type: 'call', callee: value, args: parseArguments() }
      else return value
    }
  }

  /** `| name(arguments) | …`; `inline` for a chain whose first `|` is left out, as after `{% filter`. */
  function parseFilterChain(start: Expression, { inline = false } = {}): Expression {
    let value = start
    for (let first = inline; first || cursor.skip('operator', '|'); first = false) {
      const { at } = cursor.current
      const name = parseDottedName()
      if (!known.filters.has(name)) cursor.noteUnknown('filter', name, at)
      value = { type: 'filter', name, input: value, args: cursor.isOperator('(') ? parseArguments() : noArguments }
    }
    return value
  }

  function parseTest(input: Expression): Expression {
    cursor.expect('name', 'is')
    const negated = cursor.skip('name', 'not')
    const { at } = cursor.current
    const name = parseDottedName()
    if (!known.tests.has(name)) cursor.noteUnknown('test', name, at)
    const test: Expression = { type: 'test', name, input, args: parseTestArguments() }
    return negated ? { type: 'unary', operator: 'not', operand: test } : test
  }

  /** `is divisibleby(3)` and `is divisibleby 3` are the same. */
  function parseTestArguments(): Arguments {
    if (cursor.isOperator('(')) return parseArguments()
    const { type } = cursor.current
    const starts = type === 'name' || type === 'string' || type === 'integer' || type === 'float' || cursor.isOperator('[', '{')
    if (!starts || cursor.isName('else', 'or', 'and')) return noArguments
    if (cursor.isName('is')) cursor.fail('tests cannot be chained with is')
    return { ...noArguments, positional: [parsePostfix(parsePrimary())] }
  }

  function parseDottedName(): string {
    let name = cursor.expect('name').text
    while (cursor.skip('operator', '.')) name += `.${cursor.expect('name').text}`
    return name
  }

  return { parseExpression, parseTuple, parsePrimary, parseFilterChain }
}

const noArguments: Arguments = { positional: [], named: [], spread: undefined, spreadNamed: undefined }
