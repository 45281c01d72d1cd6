import { choice, choiceOf, type Expression, isNever, never, rule } from '../rules/expression.ts'
import type { RuleBook } from '../rules/rule-book.ts'
import { arrayGrammar } from './array-grammar.ts'
import { type CheckContext, satisfies } from './check-value.ts'
import { overlaps } from './exclusive.ts'
import { createExpand, type Expand } from './expand.ts'
import { allKinds, type Facets, type Gap, type Kind, kindsToWrite, noFacets } from './facets.ts'
import type { FingerprintOf } from './fingerprint.ts'
import { anyArray, anyBoolean, anyInteger, anyNumber, anyObject, anyValue, nullValue } from './json-text.ts'
import { choiceOfTexts } from './literal-choice.ts'
import { multiplesGrammar } from './multiples.ts'
import { decimalGrammar, integerGrammar } from './number-grammar.ts'
import { objectGrammar } from './object-grammar.ts'
import type { Patterns } from './patterns.ts'
import { rawText } from './raw-text.ts'
import type { Schema, SchemaDocument, SchemaObject } from './schema-document.ts'
import { textGrammar } from './text-grammar.ts'

/** The effort for one set of schemas, beyond what shows in the size of the grammar. */
const effortPerSet = 20

type Compiled = { readonly expression: Expression; readonly hasGaps: boolean }

/**
 * Compiles the schemas of one document. It works on sets of schemas, whose grammar is the values that satisfy all of them; a
 * set that is met again, also inside itself, is one rule.
 */
export class SchemaGrammar {
  readonly #book: RuleBook
  readonly #document: SchemaDocument
  readonly #patterns: Patterns
  readonly #expand: Expand
  readonly #check: CheckContext
  readonly #known = new Map<string, Compiled>()
  readonly #fingerprintOf: FingerprintOf
  readonly #byFingerprint: Map<string, Expression>
  /** The sets being compiled, and the rule name of those that contain themselves. */
  readonly #open = new Map<string, string | undefined>()
  readonly #gaps = new Map<string, Gap>()
  #gapsMet = 0

  constructor(parts: {
    readonly book: RuleBook
    readonly patterns: Patterns
    readonly document: SchemaDocument
    readonly fingerprintOf: FingerprintOf
    /** The rules of schemas without gaps, of all documents. */
    readonly byFingerprint: Map<string, Expression>
  }) {
    this.#book = parts.book
    this.#patterns = parts.patterns
    this.#document = parts.document
    this.#expand = createExpand(parts.document, parts.book)
    this.#fingerprintOf = parts.fingerprintOf
    this.#byFingerprint = parts.byFingerprint
    this.#check = { book: parts.book, document: parts.document, patterns: parts.patterns, listed: new Map() }
  }

  /** The keywords that the grammar does not enforce, once for each path. */
  get gaps(): readonly Gap[] {
    return [...this.#gaps.values()]
  }

  /** The values that satisfy all of these schemas. */
  compile(schemas: readonly Schema[], hint: string): Expression {
    if (schemas.includes(false)) return never
    const objects = [...new Set(schemas)].filter((schema) => typeof schema === 'object')
    if (objects.length === 0) return anyValue(this.#book)
    const key = this.#keyOf(objects)
    const known = this.#known.get(key)
    if (known !== undefined) {
      if (known.hasGaps) this.#gapsMet++
      return known.expression
    }
    const fingerprint = this.#fingerprintKey(objects)
    const same = fingerprint === undefined ? undefined : this.#byFingerprint.get(fingerprint)
    if (same !== undefined) return same
    this.#book.spend(effortPerSet)
    if (this.#open.has(key)) {
      const name = this.#open.get(key) ?? this.#book.reserve(hint)
      this.#open.set(key, name)
      return rule(name)
    }
    if (this.#open.size > this.#book.limits.schemaDepth) {
      const why = `nests deeper than ${this.#book.limits.schemaDepth} levels; make it simpler`
      throw this.#document.refusal('schema-too-large', [], undefined, why)
    }
    this.#open.set(key, undefined)
    const gapsBefore = this.#gapsMet
    const body = choiceOf(this.#expand(objects).map((branch) => this.#branch(branch, objects)))
    const name = this.#open.get(key)
    this.#open.delete(key)
    if (name !== undefined) this.#book.fill(name, body)
    const expression = name === undefined ? this.#named(hint, body) : rule(name)
    const hasGaps = this.#gapsMet > gapsBefore
    this.#known.set(key, { expression, hasGaps })
    if (fingerprint !== undefined && !hasGaps) this.#byFingerprint.set(fingerprint, expression)
    return expression
  }

  #keyOf(schemas: readonly SchemaObject[]): string {
    const numbers = schemas.map((schema) => this.#document.numberOf(schema))
    return numbers.length === 1 ? String(numbers[0]) : numbers.sort((a, b) => a - b).join()
  }

  #fingerprintKey(schemas: readonly SchemaObject[]): string | undefined {
    const numbers = schemas.map(this.#fingerprintOf)
    return numbers.includes(undefined) ? undefined : numbers.join()
  }

  /** The values that satisfy the schema, with strings raw: without quotes, and without `delimiter` in them. */
  compileRaw(schema: Schema, delimiter: string): Expression {
    if (typeof schema === 'boolean') return schema ? this.#rawBranch(noFacets, schema, delimiter) : never
    const fingerprint = this.#fingerprintKey([schema])
    const key = `raw ${fingerprint} ${delimiter}`
    const known = fingerprint === undefined ? undefined : this.#byFingerprint.get(key)
    if (known !== undefined) return known
    const gapsBefore = this.#gapsMet
    const expression = choiceOf(this.#expand([schema]).map((branch) => this.#rawBranch(branch, schema, delimiter)))
    if (fingerprint !== undefined && this.#gapsMet === gapsBefore) this.#byFingerprint.set(key, expression)
    return expression
  }

  #rawBranch(branch: Facets, schema: Schema, delimiter: string): Expression {
    if (branch.values !== undefined) {
      const values = branch.values.filter((value) => satisfies(value, schema, this.#check))
      const texts = values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value)))
      return choiceOfTexts(
        this.#book,
        texts.filter((text, index) => typeof values[index] !== 'string' || !text.includes(delimiter)),
      )
    }
    const kinds = kindsToWrite(branch)
    this.#reportBranch(branch, kinds)
    return choice(
      ...kinds.map((kind) => {
        if (kind !== 'string') return this.#kind(kind, branch)
        return this.#take(rawText(this.#book, branch.text, { delimiter, patterns: this.#patterns }))
      }),
    )
  }

  #named(hint: string, body: Expression): Expression {
    return body.type === 'literal' || body.type === 'rule' || body === never ? body : this.#book.shared(hint, body)
  }

  #branch(branch: Facets, schemas: readonly Schema[]): Expression {
    if (branch.values !== undefined) {
      const values = branch.values.filter((value) => schemas.every((schema) => satisfies(value, schema, this.#check)))
      return choiceOfTexts(
        this.#book,
        values.map((value) => JSON.stringify(value)),
      )
    }
    const kinds = kindsToWrite(branch)
    this.#reportBranch(branch, kinds)
    const isAnything = kinds.length === allKinds.length && branch.impliedKinds.size === 0 && !branch.integer
    if (isAnything) return anyValue(this.#book)
    const meant = choice(...kinds.map((kind) => this.#kind(kind, branch)))
    // Where no value of the implied kinds is possible, the other kinds still are.
    const others = isNever(meant) ? [...branch.kinds].filter((kind) => !kinds.includes(kind)) : []
    return choice(meant, ...others.map((kind) => this.#kind(kind, branch)))
  }

  #kind(kind: Kind, branch: Facets): Expression {
    switch (kind) {
      case 'null':
        return nullValue
      case 'boolean':
        return this.#book.once('boolean', () => anyBoolean)
      case 'number':
        return this.#number(branch)
      case 'string':
        return this.#take(textGrammar(this.#book, branch.text, this.#patterns))
      case 'array': {
        const { layers, min, max, contains } = branch.array
        const isAny = layers.length === 0 && min === 0 && max === undefined && contains.length === 0
        return isAny
          ? anyArray(this.#book)
          : arrayGrammar(this.#book, branch.array, (schemas, hint) => this.compile(schemas, hint))
      }
      case 'object':
        return this.#object(branch.object)
    }
  }

  #number({ range, integer, multiples }: Facets): Expression {
    if (multiples.length > 0) {
      const steps = multiples.map(({ step }) => step)
      const found = multiplesGrammar(this.#book, { range, integer, steps })
      if (found?.exact !== true) {
        this.#report(multiples.map(({ path }): Gap => ({ keyword: 'multipleOf', path, kind: 'number' })))
      }
      if (found !== undefined) return isNever(found.expression) ? never : this.#book.shared('multiple', found.expression)
    }
    if (range.min === undefined && range.max === undefined) return integer ? anyInteger(this.#book) : anyNumber(this.#book)
    return this.#book.shared(integer ? 'integer' : 'number', integer ? integerGrammar(range) : decimalGrammar(range))
  }

  #object(object: Facets['object']): Expression {
    const { layers, required, names, min, max } = object
    const isAny = layers.length === 0 && required.length === 0 && names.length === 0 && min === 0 && max === undefined
    if (isAny) return anyObject(this.#book)
    return this.#take(
      objectGrammar(this.#book, object, {
        compile: (schemas, hint) => this.compile(schemas, hint),
        patterns: this.#patterns,
        expand: this.#expand,
        isName: (name, schema) => satisfies(name, schema, this.#check),
      }),
    )
  }

  #take({ expression, gaps }: { readonly expression: Expression; readonly gaps: readonly Gap[] }): Expression {
    this.#report(gaps)
    return expression
  }

  #reportBranch(branch: Facets, kinds: readonly Kind[]): void {
    for (const rival of branch.rivals) {
      const context = { expand: this.#expand, book: this.#book }
      if (rival.branches.some((other) => overlaps(branch, other, context))) this.#report([{ keyword: 'oneOf', path: rival.path }])
    }
    this.#report(branch.gaps.filter((gap) => gap.kind === undefined || kinds.includes(gap.kind)))
  }

  #report(gaps: readonly Gap[]): void {
    this.#gapsMet += gaps.length
    for (const gap of gaps) this.#gaps.set(JSON.stringify([gap.keyword, gap.path]), gap)
  }
}
