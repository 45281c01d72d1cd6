import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { describe, expect, test } from 'vitest'
import { compileJsonSchema } from '../../test/support/llama/compile-json-schema.ts'
import { createMatcher } from '../../test/support/llama/gbnf-matcher.ts'
import { createRandom } from '../../test/support/random.ts'
import { combiningKeywords } from './__fixtures__/combining-keywords.ts'
import { valueKeywords } from './__fixtures__/value-keywords.ts'
import { checkGbnf } from './rules/check-gbnf.ts'

const ajv = new Ajv2020({ strict: false, logger: false, multipleOfPrecision: 6 })
addFormats.default(ajv)

describe.each(Object.entries({ ...valueKeywords, ...combiningKeywords }))('%s', (keyword, cases) => {
  const counted = cases.reduce((sum, [, valid, invalid]) => sum + valid.length + invalid.length, 0)

  test('has ten cases or more, and Ajv agrees with them', () => {
    if (keyword !== 'true and false') expect(counted).toBeGreaterThanOrEqual(10)
    for (const [schema, valid, invalid, narrowed = []] of cases) {
      const isValid = ajv.compile(schema)
      expect(
        [[...valid, ...narrowed].filter((value) => !isValid(value)), invalid.filter((value) => isValid(value))],
        JSON.stringify(schema),
      ).toEqual([[], []])
    }
  })

  test.each(cases.map((each) => [each]))(
    'the schema in %j allows the valid values only',
    ([schema, valid, invalid, narrowed = []]) => {
      const { grammar, enforcement } = compileJsonSchema(schema)
      checkGbnf(grammar)
      const matcher = createMatcher(grammar)
      const accepts = (value: unknown) => matcher.matches(JSON.stringify(value))
      expect(valid.filter((value) => !accepts(value))).toEqual([])
      expect(narrowed.filter(accepts)).toEqual([])
      const isValid = ajv.compile(schema)
      const random = createRandom(9)
      const texts = Array.from({ length: 10 }, () => matcher.generate(random, 60))
      const values: unknown[] = texts.map((text) => JSON.parse(text))
      if (enforcement === 'partial') return
      expect(invalid.filter(accepts)).toEqual([])
      expect(values.filter((value) => !isValid(value))).toEqual([])
    },
  )
})
