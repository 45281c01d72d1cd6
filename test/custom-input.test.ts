import { describe, expect, test } from 'vitest'
import { plainRequest } from '../src/contract/request.ts'
import { readInput } from '../src/core/custom-tools/input-decoder.ts'
import { compileConstraint } from '../src/engine/constraint/constraint.ts'
import { toolFormatNames } from '../src/model-text/formats/format-names.ts'
import { inputSchemaOf } from '../src/threads/input-grammar.ts'
import { createSchemaValidator } from '../src/threads/schema-validator.ts'
import { createMatcher } from './support/llama/gbnf-matcher.ts'
import { parseOutput } from './support/parse-output.ts'
import { createRandom } from './support/random.ts'

/** The input of a custom tool, as a function of the string `input`. */
function functionWith(name: string, syntax: 'lark' | 'regex', definition: string) {
  const input = inputSchemaOf({ grammar: { syntax, definition }, place: [] })
  return {
    name,
    strict: true,
    parameters: { type: 'object', properties: { input }, required: ['input'], additionalProperties: false },
  }
}

const lark =
  'start: line~1..4\nline: ("+" | "-") /[a-z<>"\\\\{} é]*/ LF | "@" number LF\nnumber: "(" number ")" | INT\n%import common (LF, INT)'
const tools = [functionWith('edit', 'lark', lark), functionWith('pick', 'regex', '[a-f]{2,5}|"\\d+"')]
const validators = new Map(tools.map(({ name, parameters }) => [name, createSchemaValidator(JSON.stringify(parameters))]))

describe.each(toolFormatNames)('the grammar of an input, in calls as %s', (toolFormat) => {
  test('holds for the decoded text of every call that is let through', () => {
    const random = createRandom(5)
    const wanted = { ...plainRequest, tools, toolChoice: { type: 'required' }, parallelToolCalls: true } as const
    const format = { toolFormat, startsInReasoning: false }
    const matcher = createMatcher(compileConstraint(wanted, { format, endTexts: [] })?.gbnf ?? '')
    const names = new Set<string>()
    for (let round = 0; round < 40; round++) {
      const raw = matcher.generate(random, 120)
      const { text, calls } = parseOutput({ format, tools }, [raw])
      expect(text).toBe('')
      expect(calls.length, raw).toBeGreaterThan(0)
      for (const { name, arguments: json } of calls) {
        names.add(name)
        expect(validators.get(name)?.(JSON.stringify({ input: readInput(json) })), `${raw} => ${json}`).toBeUndefined()
      }
    }
    expect([...names].sort()).toEqual(['edit', 'pick'])
  })
})
