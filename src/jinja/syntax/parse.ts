import { createExpressionParser, type ExpressionParser, type Known } from './parse-expression.ts'
import { blockText, type Expression, type MacroSyntax, type Statement, type Target } from './syntax.ts'
import { TokenCursor } from './token-cursor.ts'

/**
 * Parses a template: jinja2 3.1 with the tags of chat templates, `break`, `continue` and `generation` included. Throws a
 * `JinjaError`.
 */
export function parseTemplate(source: string, known: Known): ParsedTemplate {
  const cursor = new TokenCursor(source)
  const statements = createStatementParser(cursor, createExpressionParser(cursor, known))()
  const [unknown] = cursor.unknown
  if (unknown !== undefined) throw unknown
  return { statements, names: cursor.mentions }
}

type ParsedTemplate = {
  readonly statements: readonly Statement[]
  /** Every name that the template reads, also those it sets itself. */
  readonly names: ReadonlySet<string>
}

function createStatementParser(cursor: TokenCursor, expressions: ExpressionParser): () => Statement[] {
  const { parseExpression, parseTuple, parsePrimary, parseFilterChain } = expressions
  const readers: Readonly<Record<string, () => Statement>> = {
    set: parseSet,
    for: parseFor,
    if: parseIf,
    macro: parseMacro,
    call: parseCall,
    filter: parseFilterBlock,
    with: parseWith,
    block: parseBlock,
    autoescape: () => {
      parseExpression()
      return { type: 'scope', isolated: false, body: parseInner('endautoescape') }
    },
    generation: () => ({ type: 'scope', isolated: false, body: parseInner('endgeneration') }),
    print: () => ({ type: 'output', value: parseTuple() }),
    break: () => ({ type: 'break' }),
    continue: () => ({ type: 'continue' }),
    ...Object.fromEntries(['include', 'import', 'from', 'extends'].map((tag) => [tag, () => skipTag(tag)])),
  }
  const loops: string[] = []
  return () => parseUntil([])

  /** Statements up to a tag named one of `ends`, whose name is not consumed; without `ends`, up to the end of the template. */
  function parseUntil(ends: readonly string[]): Statement[] {
    const body: Statement[] = []
    for (;;) {
      const token = cursor.next()
      if (token.type === 'data') body.push({ type: 'text', text: token.text })
      else if (token.type === 'variable-begin') {
        body.push({ type: 'output', value: parseTuple() })
        cursor.expect('variable-end')
      } else if (token.type === 'block-begin') {
        if (cursor.isName(...ends)) return body
        body.push(parseStatement())
        cursor.expect('block-end')
      } else {
        if (ends.length > 0) cursor.fail(`the template ends where {% ${ends.join(' %} or {% ')} %} was expected`)
        return body
      }
    }
  }

  function parseStatement(): Statement {
    const { text } = cursor.expect('name')
    const read = Object.hasOwn(readers, text) ? readers[text] : undefined
    if (read === undefined) return cursor.fail(`encountered unknown tag '${text}'`)
    if ((text === 'break' || text === 'continue') && loops.length === 0) cursor.fail(`'${text}' outside loop`)
    return read()
  }

  /** The body of a tag, and the name of the tag that ends it. */
  function parseBody(...ends: string[]): { readonly body: Statement[]; readonly end: string } {
    cursor.skip('operator', ':')
    cursor.expect('block-end')
    const body = parseUntil(ends)
    return { body, end: cursor.next().text }
  }

  /** A body in a frame of its own, where unknown filters make the template fail as a whole again. */
  function parseInner(end: string): Statement[] {
    return inFrame(() => parseBody(end).body)
  }

  function inFrame<T>(read: () => T): T {
    const outer = cursor.inCondition
    cursor.inCondition = false
    const result = read()
    cursor.inCondition = outer
    return result
  }

  function parseSet(): Statement {
    const target = parseTarget({ attributes: true })
    if (cursor.skip('operator', '=')) return { type: 'set', target, value: parseTuple() }
    const filter = parseFilterChain({ type: 'name', name: blockText })
    return { type: 'set-block', target, filter, body: parseInner('endset') }
  }

  function parseFor(): Statement {
    const target = parseTarget({ ends: ['in'] })
    cursor.expect('name', 'in')
    const iterable = parseTuple({ conditional: false, ends: ['recursive'] })
    return inFrame(() => {
      const filter = cursor.skip('name', 'if') ? parseExpression() : undefined
      const recursive = cursor.skip('name', 'recursive')
      loops.push('for')
      const { body, end } = parseBody('endfor', 'else')
      loops.pop()
      const otherwise = end === 'else' ? parseBody('endfor').body : []
      return { type: 'for', target, iterable, filter, recursive, body, otherwise }
    })
  }

  function parseIf(): Statement {
    const outer = cursor.inCondition
    cursor.inCondition = true
    const branches: { test: Expression; body: Statement[] }[] = []
    let otherwise: Statement[] = []
    for (let tag = 'elif'; tag === 'elif'; ) {
      const test = parseTuple({ conditional: false })
      const { body, end } = parseBody('elif', 'else', 'endif')
      branches.push({ test, body })
      tag = end
      if (end === 'else') otherwise = parseBody('endif').body
    }
    cursor.inCondition = outer
    return { type: 'if', branches, otherwise }
  }

  function parseMacro(): Statement {
    const name = cursor.expect('name').text
    return { type: 'macro', macro: parseMacroBody(name, 'endmacro', () => parseSignature()) }
  }

  function parseCall(): Statement {
    let call: Expression | undefined
    const body = parseMacroBody('caller', 'endcall', () => {
      const parameters = cursor.isOperator('(') ? parseSignature() : []
      call = parseExpression()
      return parameters
    })
    if (call?.type !== 'call') return cursor.fail('expected a call')
    return { type: 'call-block', call, body }
  }

  function parseMacroBody(name: string, end: string, readHead: () => MacroSyntax['parameters']): MacroSyntax {
    const outer = cursor.mentions
    const parameters = readHead()
    cursor.mentions = new Set()
    // `break` in a macro cannot leave a loop around the macro.
    const outerLoops = loops.splice(0)
    const body = parseInner(end)
    loops.push(...outerLoops)
    const mentions = cursor.mentions
    for (const name of mentions) outer.add(name)
    cursor.mentions = outer
    return { name, parameters, body, mentions }
  }

  function parseSignature(): MacroSyntax['parameters'] {
    const parameters: { name: string; fallback: Expression | undefined }[] = []
    cursor.expect('operator', '(')
    while (!cursor.isOperator(')')) {
      if (parameters.length > 0) cursor.expect('operator', ',')
      const name = cursor.expect('name').text
      const fallback = cursor.skip('operator', '=') ? parseExpression() : undefined
      if (fallback === undefined && parameters.at(-1)?.fallback !== undefined) {
        cursor.fail('non-default argument follows default argument')
      }
      parameters.push({ name, fallback })
    }
    cursor.expect('operator', ')')
    return parameters
  }

  function parseFilterBlock(): Statement {
    const filter = parseFilterChain({ type: 'name', name: blockText }, { inline: true })
    return { type: 'filter-block', filter, body: parseInner('endfilter') }
  }

  function parseWith(): Statement {
    const bindings: { target: Target; value: Expression }[] = []
    while (!cursor.is('block-end')) {
      if (bindings.length > 0) cursor.expect('operator', ',')
      const target = parseTarget({})
      cursor.expect('operator', '=')
      bindings.push({ target, value: parseExpression() })
    }
    return { type: 'with', bindings, body: parseInner('endwith') }
  }

  function parseBlock(): Statement {
    const name = cursor.expect('name').text
    const scoped = cursor.skip('name', 'scoped')
    cursor.skip('name', 'required')
    const body = parseInner('endblock')
    cursor.skip('name', name)
    return { type: 'scope', isolated: !scoped, body }
  }

  function skipTag(tag: string): Statement {
    while (!cursor.is('block-end') && !cursor.is('end')) cursor.next()
    return { type: 'other-template', tag }
  }

  /** A name, several names or, with `attributes`, `namespace.name`. */
  function parseTarget({ attributes = false, ends = [] as readonly string[] }): Target {
    const first = parseOneTarget(attributes)
    if (!cursor.isOperator(',')) return first
    const targets = [first]
    while (cursor.skip('operator', ',')) {
      if (cursor.isName(...ends) || cursor.isOperator('=')) break
      targets.push(parseOneTarget(attributes))
    }
    return { type: 'tuple', targets }
  }

  function parseOneTarget(attributes: boolean): Target {
    if (attributes && cursor.is('name') && cursor.is('operator', '.', 1)) {
      const object = cursor.next().text
      cursor.next()
      return { type: 'attribute', object, name: cursor.expect('name').text }
    }
    return targetOf(parsePrimary())
  }

  function targetOf(expression: Expression): Target {
    if (expression.type === 'name') return { type: 'name', name: expression.name }
    if (expression.type === 'tuple') return { type: 'tuple', targets: expression.items.map(targetOf) }
    return cursor.fail(`can't assign to '${expression.type}'`)
  }
}
