import { existsSync, readdirSync, readFileSync } from 'node:fs'
import type { ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { describe, expect, test } from 'vitest'
import { compileJsonSchema } from '../../test/support/llama/compile-json-schema.ts'
import { createMatcher } from '../../test/support/llama/gbnf-matcher.ts'
import { roundsOf } from '../../test/support/process/soak-length.ts'
import { createRandom } from '../../test/support/random.ts'
import type { CompiledGrammar } from './grammar-builder.ts'
import { checkGbnf } from './rules/check-gbnf.ts'
import { GrammarError } from './rules/grammar-error.ts'

type Suite = { description: string; schema: unknown; tests: { description: string; data: unknown; valid: boolean }[] }

const folder = new URL('../../../shared/vectors/json-schema/', import.meta.url)
const files = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.json')) : []
const suites = files.flatMap((file) =>
  (JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as Suite[]).map((suite) => ({ ...suite, file })),
)

function compile(schema: unknown): CompiledGrammar | GrammarError {
  try {
    return compileJsonSchema(schema)
  } catch (error) {
    if (error instanceof GrammarError) return error
    throw error
  }
}

/** Where Ajv disagrees with the suite's own instances: on `$dynamicRef`, and on `items` in an `anyOf`. */
function isMisjudged(file: string, description: string): boolean {
  return file === 'dynamicRef.json' || description === 'unevaluatedItems with nested items'
}

/** Undefined where Ajv refuses the schema, such as some `$id`s. */
function validator(schema: unknown): ValidateFunction | undefined {
  const ajv = new Ajv2020({ strict: false, logger: false, ownProperties: true, validateSchema: false })
  addFormats.default(ajv)
  try {
    return ajv.compile(schema as object | boolean)
  } catch {
    // Only the suite's own instances apply then.
    return undefined
  }
}

describe.skipIf(files.length === 0)('the JSON Schema test suite, draft 2020-12', () => {
  test('grammars of full enforcement reject every invalid instance, and every schema compiles or is refused', () => {
    const counts = {
      schemas: 0,
      full: 0,
      partial: 0,
      refused: 0,
      validAccepted: 0,
      validNarrowed: 0,
      invalidRejected: 0,
      invalidLeft: 0,
    }
    const wrong: string[] = []
    const narrowed = new Map<string, number>()
    const refused: string[] = []
    for (const { file, description, schema, tests } of suites) {
      counts.schemas++
      const compiled = compile(schema)
      if (compiled instanceof GrammarError) {
        const isEmpty = tests.every(({ valid }) => !valid)
        counts.refused++
        refused.push(`${file}: ${description}: ${compiled.message}${isEmpty ? ' (nothing is valid)' : ''}`)
        continue
      }
      checkGbnf(compiled.grammar)
      counts[compiled.enforcement]++
      const matcher = createMatcher(compiled.grammar)
      for (const { description: what, data, valid } of tests) {
        const isMatch = matcher.matches(JSON.stringify(data))
        if (valid && !isMatch) narrowed.set(file, (narrowed.get(file) ?? 0) + 1)
        if (valid) counts[isMatch ? 'validAccepted' : 'validNarrowed']++
        else counts[isMatch ? 'invalidLeft' : 'invalidRejected']++
        if (!valid && isMatch && compiled.enforcement === 'full') wrong.push(`${file}: ${description}: ${what}`)
      }
    }
    if (process.env.SHOW !== undefined) console.log(counts, [...narrowed], refused.join('\n'))
    expect(wrong).toEqual([])
  })

  test('random texts are JSON, and valid where enforcement is full', () => {
    const random = createRandom(7)
    const wrong: string[] = []
    let texts = 0
    for (const { file, description, schema } of suites) {
      const compiled = compile(schema)
      if (compiled instanceof GrammarError) continue
      const matcher = createMatcher(compiled.grammar)
      const validate = compiled.enforcement === 'full' && !isMisjudged(file, description) ? validator(schema) : undefined
      for (let count = 0; count < roundsOf(1, 2); count++) {
        const text = matcher.generate(random, roundsOf(60, 150))
        texts++
        const value: unknown = JSON.parse(text)
        if (validate !== undefined && !validate(value))
          wrong.push(`${file}: ${description}: ${text} ${JSON.stringify(validate.errors)}`)
      }
    }
    expect(wrong).toEqual([])
    expect(texts).toBeGreaterThan(150)
  })
})
