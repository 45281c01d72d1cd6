import { regexExpression } from './regex/regex-grammar.ts'
import { parseRegex } from './regex/regex-syntax.ts'
import { type Expression, renderLiteral } from './rules/expression.ts'
import { GrammarError, withParam } from './rules/grammar-error.ts'
import { defaultLimits, type GrammarLimits } from './rules/limits.ts'
import { prune } from './rules/prune.ts'
import { RuleBook } from './rules/rule-book.ts'
import { createFingerprints } from './schema/fingerprint.ts'
import { anyObject } from './schema/json-text.ts'
import { Patterns } from './schema/patterns.ts'
import { pointerText, SchemaDocument } from './schema/schema-document.ts'
import { SchemaGrammar } from './schema/schema-grammar.ts'

/** A keyword that the grammar does not enforce, and the schema that has it (a JSON pointer; `#` is the root). */
export type Unenforced = { readonly keyword: string; readonly path: string }

/**
 * `full`: every text of the grammar is a valid instance. `partial`: the listed keywords must be validated afterwards. The
 * reverse does not hold: a grammar is narrower than its schema where more would be useless or endless (undeclared properties,
 * types that no keyword implies, more digits than a number holds, very long names, free white space, rare forms of dates and
 * addresses).
 */
export type CompiledGrammar = {
  /** GBNF; its start is `root`. */
  readonly grammar: string
  readonly enforcement: 'full' | 'partial'
  readonly unenforced: readonly Unenforced[]
}

export type SchemaOptions = {
  /** A hint for the rule's name. */
  readonly name?: string
  /** Refuse keywords that cannot be enforced instead of listing them. */
  readonly strict?: boolean
  /** The caller's name for the schema, which begins the `param` of errors: `tools[0].function.parameters`. */
  readonly param?: string
  /** The document that the schema is part of, for its references; by default the schema itself. */
  readonly document?: unknown
  /** Strings are written raw, without quotes and escapes; they never contain this delimiter, which follows the value. */
  readonly rawUntil?: string
}

export type GbnfRule = { readonly name: string; readonly body: string }

/** One grammar of several schemas, patterns and literals, such as the calls of all tools of a request. */
export type GrammarBuilder = {
  /**
   * The name of a rule for the JSON values of a schema. Throws a `GrammarError`, also for a strict schema that cannot be
   * enforced.
   */
  addSchema(schema: unknown, options?: SchemaOptions): string
  /** The name of a rule for the texts that a regular expression matches as a whole. */
  addRegex(pattern: string, options?: { readonly name?: string; readonly param?: string }): string
  /** The name of a rule for any JSON object. */
  addAnyObject(): string
  /** The name of a rule with a body in GBNF: rule names, `literal` texts and operators. */
  addRule(name: string, body: string): string
  /** Adds rules under their own names, which begin with `dragoman-`: no other rule's does. */
  addNamed(rules: readonly GbnfRule[]): void
  literal(text: string): string
  /** The whole grammar. `root` is GBNF, as in `addRule`. */
  build(root: string): CompiledGrammar
}

/** An empty grammar. The limits apply to all its parts together. */
export function createGrammarBuilder(limits: Partial<GrammarLimits> = {}): GrammarBuilder {
  const book = new RuleBook({ ...defaultLimits, ...limits })
  const givenRules: string[] = []
  const kept = new Map<string, Expression>()
  const unenforced = new Map<string, Unenforced>()
  const patterns = new Patterns(book)
  const documents = new Map<unknown, { readonly document: SchemaDocument; readonly param: string | undefined }>()
  const fingerprintOf = createFingerprints()
  const byFingerprint = new Map<string, Expression>()
  book.reserve('root')

  /** Some tools are added member by member; their document is read once. */
  const documentOf = (whole: unknown, param: string | undefined): SchemaDocument => {
    const known = documents.get(whole)
    if (known !== undefined && known.param === param) return known.document
    const document = new SchemaDocument(whole, book.limits, param)
    documents.set(whole, { document, param })
    return document
  }

  /** Each part is pruned when it is added: later parts do not change it. */
  const addPart = (hint: string, expression: Expression, refuse: () => Error): string => {
    const name = expression.type === 'rule' ? expression.name : book.reserve(hint)
    if (expression.type !== 'rule') book.fill(name, expression)
    if (!prune(book.rules, name, kept)) throw refuse()
    return name
  }

  return {
    addSchema(schema, options = {}) {
      const { name = 'schema', strict = false, param, document: whole = schema, rawUntil } = options
      const document = documentOf(whole, param)
      const schemaGrammar = new SchemaGrammar({ book, patterns, document, fingerprintOf, byFingerprint })
      const part = document.include(document.asSchema(schema, []))
      const expression = withParam(param, () => {
        return rawUntil === undefined ? schemaGrammar.compile([part], name) : schemaGrammar.compileRaw(part, rawUntil)
      })
      const [first] = schemaGrammar.gaps
      if (strict && first !== undefined) {
        const why = 'cannot be enforced while generating, and the schema is strict; leave it out, or ask without strict'
        throw document.refusal('unsupported-schema', first.path, first.keyword, why)
      }
      for (const { keyword, path } of schemaGrammar.gaps) {
        const gap = { keyword, path: pointerText(path) }
        unenforced.set(JSON.stringify([param, gap]), gap)
      }
      return addPart(name, expression, () => {
        return document.refusal('invalid-schema', [], undefined, 'allows no value of finite length')
      })
    },
    addRegex(pattern, { name = 'text', param } = {}) {
      const refuse = () => new GrammarError('invalid-regex', `no text matches the pattern '${pattern}'`, { param })
      return addPart(
        name,
        withParam(param, () => regexExpression(book, parseRegex(pattern), name)),
        refuse,
      )
    },
    addAnyObject() {
      return addPart('object', anyObject(book), () => new Error('the limits leave no level for an object'))
    },
    addRule(hint, body) {
      const name = book.reserve(hint)
      givenRules.push(`${name} ::= ${body}\n`)
      return name
    },
    addNamed(rules) {
      for (const { name, body } of rules) givenRules.push(`${name} ::= ${body}\n`)
    },
    literal: renderLiteral,
    build(root) {
      const rules = [...kept].map(([name, body]) => `${name} ::= ${book.textOf(body)}\n`)
      return {
        grammar: `root ::= ${root}\n${givenRules.join('')}${rules.join('')}`,
        enforcement: unenforced.size === 0 ? 'full' : 'partial',
        unenforced: [...unenforced.values()],
      }
    },
  }
}
