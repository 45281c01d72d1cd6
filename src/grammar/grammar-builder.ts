import { type Expression, renderLiteral } from './expression.ts'
import { GrammarError, withParam } from './grammar-error.ts'
import { anyObject } from './json-text.ts'
import { createLikeness } from './likeness.ts'
import { defaultLimits, type GrammarLimits } from './limits.ts'
import { Patterns } from './patterns.ts'
import { prune } from './prune.ts'
import { regexExpression } from './regex-grammar.ts'
import { RuleBook } from './rule-book.ts'
import { pointerText, SchemaDocument } from './schema-document.ts'
import { SchemaGrammar } from './schema-grammar.ts'

/** A keyword of a schema that the grammar does not keep, and the schema that it stands in (a JSON pointer, `#` is the root). */
export type Unenforced = { readonly keyword: string; readonly path: string }

/**
 * `full`: every text of the grammar is a valid instance. `partial`: the listed keywords must still be checked. The reverse is
 * not promised: a grammar is narrower than its schema where more would be of no use or would not end (properties that an object
 * with `properties` does not declare, values of types that a schema without `type` does not speak of, more digits than a
 * number can hold, very long names, free white space, unusual spellings of dates and addresses).
 */
export type CompiledGrammar = {
  /** GBNF; its start is `root`. */
  readonly grammar: string
  readonly enforcement: 'full' | 'partial'
  readonly unenforced: readonly Unenforced[]
}

export type SchemaOptions = {
  /** What the rule may be called; it will be called something like it. */
  readonly name?: string
  /** Refuse what cannot be enforced, instead of listing it. */
  readonly strict?: boolean
  /** The request field that holds the schema, for failures: `tools[0].function.parameters`. */
  readonly param?: string
  /** The document that the schema is part of, where it is not the whole: what its references refer to. */
  readonly document?: unknown
  /** Texts are written as they are, without quotes; this mark follows the value, and so is not in a text. */
  readonly rawUntil?: string
}

/** One grammar made of several schemas, patterns and given texts, such as the calls of all the tools of a request. */
export type GrammarBuilder = {
  /**
   * The name of a rule for the JSON values of a schema. Throws a `GrammarError`, also for a strict schema that cannot be
   * enforced.
   */
  addSchema(schema: unknown, options?: SchemaOptions): string
  /** The name of a rule for the texts that the whole of a regular expression matches. */
  addRegex(pattern: string, options?: { readonly name?: string; readonly param?: string }): string
  /** The name of a rule for any JSON object. */
  addAnyObject(): string
  /** The name of a rule with a body in GBNF: names of other rules, `literal` texts, and the operators. */
  addRule(name: string, body: string): string
  /** A given text as GBNF. */
  literal(text: string): string
  /** The whole grammar. `root` is GBNF, as in `addRule`. */
  build(root: string): CompiledGrammar
}

/** An empty grammar. The limits hold for all that is added to it together. */
export function createGrammarBuilder(limits: Partial<GrammarLimits> = {}): GrammarBuilder {
  const book = new RuleBook({ ...defaultLimits, ...limits })
  const written: string[] = []
  const kept = new Map<string, Expression>()
  const unenforced = new Map<string, Unenforced>()
  const patterns = new Patterns(book)
  const documents = new Map<unknown, { readonly document: SchemaDocument; readonly param: string | undefined }>()
  const likenessOf = createLikeness()
  const writtenAlike = new Map<string, Expression>()
  book.reserve('root')

  /** Some tools are added member by member: their document is read once. */
  const documentOf = (whole: unknown, param: string | undefined): SchemaDocument => {
    const known = documents.get(whole)
    if (known !== undefined && known.param === param) return known.document
    const document = new SchemaDocument(whole, book.limits, param)
    documents.set(whole, { document, param })
    return document
  }

  /** A part is cut to what can be finished as soon as it is there: nothing that comes later changes it. */
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
      const schemaGrammar = new SchemaGrammar({ book, patterns, document, likenessOf, writtenAlike })
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
        return document.refusal('invalid-schema', [], undefined, 'allows no value that could be written to its end')
      })
    },
    addRegex(pattern, { name = 'text', param } = {}) {
      const refuse = () => new GrammarError('invalid-regex', `no text matches the pattern '${pattern}'`, { param })
      return addPart(
        name,
        withParam(param, () => regexExpression(book, pattern, name)),
        refuse,
      )
    },
    addAnyObject() {
      return addPart('object', anyObject(book), () => new Error('the limits leave no level for an object'))
    },
    addRule(hint, body) {
      const name = book.reserve(hint)
      written.push(`${name} ::= ${body}\n`)
      return name
    },
    literal: renderLiteral,
    build(root) {
      const rules = [...kept].map(([name, body]) => `${name} ::= ${book.textOf(body)}\n`)
      return {
        grammar: `root ::= ${root}\n${written.join('')}${rules.join('')}`,
        enforcement: unenforced.size === 0 ? 'full' : 'partial',
        unenforced: [...unenforced.values()],
      }
    },
  }
}
