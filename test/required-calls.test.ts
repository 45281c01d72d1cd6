import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { describe, expect, test } from 'vitest'
import { type FunctionTool, plainRequest } from '../src/contract/request.ts'
import { compileConstraint } from '../src/engine/constraint/constraint.ts'
import { toolFormatNames } from '../src/model-text/formats/format-names.ts'
import { createMatcher } from './support/llama/gbnf-matcher.ts'
import { parseOutput } from './support/parse-output.ts'
import { roundsOf } from './support/process/soak-length.ts'
import { createRandom } from './support/random.ts'

/** What the schemas of tools are made of: references, texts of every kind, values that are not text, and nothing at all. */
const tools: readonly FunctionTool[] = [
  {
    name: 'book_flight',
    parameters: {
      type: 'object',
      properties: {
        from: { $ref: '#/$defs/airport' },
        day: { type: 'string', format: 'date' },
        seat: { enum: ['aisle', 'window'] },
        note: { type: 'string', minLength: 2, maxLength: 12 },
        travellers: { type: 'array', items: { $ref: '#/$defs/person' }, minItems: 1, maxItems: 2 },
      },
      required: ['from', 'day', 'seat', 'travellers'],
      additionalProperties: false,
      $defs: {
        airport: { type: 'string', pattern: '^[A-Z]{3}$' },
        person: {
          type: 'object',
          properties: { name: { type: 'string', maxLength: 8 }, age: { type: 'integer', minimum: 0, maximum: 120 } },
          required: ['name', 'age'],
          additionalProperties: false,
        },
      },
    },
  },
  {
    name: 'set-value',
    parameters: {
      type: 'object',
      properties: {
        value: { type: ['string', 'number', 'null'], maxLength: 6 },
        unit: { const: '°C' },
        flags: { anyOf: [{ type: 'boolean' }, { type: 'array', items: { type: 'number' }, maxItems: 2 }] },
        text: { type: 'string' },
      },
      required: ['unit', 'flags'],
      additionalProperties: false,
    },
  },
  { name: 'now', parameters: { type: 'object', properties: {}, additionalProperties: false } },
  { name: 'bare' },
]

const ajv = new Ajv2020({ strict: false })
addFormats.default(ajv)
const validators = new Map(tools.map(({ name, parameters }) => [name, ajv.compile(parameters ?? {})]))

function force(toolFormat: string, parallelToolCalls: boolean) {
  const wanted = { ...plainRequest, tools, toolChoice: { type: 'required' }, parallelToolCalls } as const
  const constraint = compileConstraint(wanted, { format: { toolFormat, startsInReasoning: false }, endTexts: [] })
  return createMatcher(constraint?.gbnf ?? '')
}

describe.each(toolFormatNames)('required calls of a model that writes %s', (toolFormat) => {
  const options = { format: { toolFormat, startsInReasoning: false }, tools }

  test('whatever the grammar lets through is read as valid calls, and as nothing else', () => {
    const random = createRandom(11)
    const matcher = force(toolFormat, true)
    const wrong: string[] = []
    let several = 0
    for (let round = 0; round < roundsOf(20, 60); round++) {
      const raw = matcher.generate(random, 250)
      const { text, reasoning, calls } = parseOutput(options, [raw])
      const isValid = calls.every((call) => validators.get(call.name)?.(JSON.parse(call.arguments)) === true)
      if (text !== '' || reasoning !== '' || calls.length === 0 || !isValid) {
        wrong.push(`${raw}\n=> ${JSON.stringify({ text, reasoning, calls })}`)
      }
      if (new Set(calls.map(({ id }) => id)).size !== calls.length) wrong.push(`${raw}\n=> an id twice`)
      if (calls.length > 1) several += 1
    }
    expect(wrong.slice(0, 3)).toEqual([])
    expect(several).toBeGreaterThan(roundsOf(1, 5))
  })

  test('where one call is allowed, there is one', () => {
    const random = createRandom(12)
    const matcher = force(toolFormat, false)
    for (let round = 0; round < 20; round++) {
      expect(parseOutput(options, [matcher.generate(random, 250)]).calls).toHaveLength(1)
    }
  })
})
