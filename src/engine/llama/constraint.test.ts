import { describe, expect, test } from 'vitest'
import { createMatcher } from '../../../test/support/gbnf-matcher.ts'
import { plainRequest, type Tool } from '../../core/request.ts'
import { compileConstraint, type Wanted } from './constraint.ts'

const weather: Tool = {
  name: 'get_weather',
  parameters: {
    type: 'object',
    properties: { city: { enum: ['Oslo', 'Rome'] } },
    required: ['city'],
    additionalProperties: false,
  },
}
const clock: Tool = { name: 'get_time', parameters: { type: 'object', properties: {}, additionalProperties: false } }
const tools = [weather, clock]
const hermes = { format: { toolFormat: 'hermes', startsInReasoning: false }, endTexts: ['<|im_end|>'] }
const schema = { type: 'json-schema', schema: { enum: [1, 2] }, strict: true } as const

const compile = (wanted: Partial<Wanted>, context: Parameters<typeof compileConstraint>[1] = hermes) =>
  compileConstraint({ ...plainRequest, tools: [], ...wanted }, context)
const call = (name: string, json: string) => `<tool_call>\n{"name": "${name}", "arguments": ${json}}\n</tool_call>`

describe('compileConstraint', () => {
  test('a request that asks for nothing is not constrained', () => {
    expect(compile({})).toBeUndefined()
    expect(compile({ tools })).toBeUndefined()
    expect(compile({ tools, toolChoice: { type: 'none' } })).toBeUndefined()
  })

  test('says how much of the wanted output is certain', () => {
    expect(compile({ output: schema })?.structured).toBe('full')
    expect(compile({ output: { type: 'json-object' } })?.structured).toBe('full')
    expect(compile({ output: { type: 'regex', pattern: 'a+' } })?.structured).toBe('full')
    expect(compile({ tools, toolChoice: { type: 'required' } })?.structured).toBeUndefined()
  })

  test.each([
    { name: 'forced', wanted: { toolChoice: { type: 'required' } }, weather: true, clock: true, both: true, text: false },
    {
      name: 'forced, one at most',
      wanted: { toolChoice: { type: 'required' }, parallelToolCalls: false },
      weather: true,
      clock: true,
      both: false,
      text: false,
    },
    {
      name: 'forced by name',
      wanted: { toolChoice: { type: 'required', names: ['get_time'] } },
      weather: false,
      clock: true,
      both: false,
      text: false,
    },
    {
      name: 'forced, beside a schema',
      wanted: { toolChoice: { type: 'required' }, output: schema },
      weather: true,
      clock: true,
      both: true,
      text: false,
    },
    { name: 'allowed, beside a schema', wanted: { output: schema }, weather: true, clock: true, both: true, text: true },
    {
      name: 'allowed by name, beside a schema',
      wanted: { output: schema, toolChoice: { type: 'auto', names: ['get_weather'] } },
      weather: true,
      clock: false,
      both: false,
      text: true,
    },
    {
      name: 'forbidden, beside a schema',
      wanted: { output: schema, toolChoice: { type: 'none' } },
      weather: false,
      clock: false,
      both: false,
      text: true,
    },
  ] as const)('calls are $name', ({ wanted, weather: hasWeather, clock: hasClock, both, text }) => {
    const matcher = createMatcher(compile({ tools, ...wanted })?.gbnf ?? '')
    const city = '{"city": "Oslo"}'
    expect(matcher.matches(call('get_weather', city))).toBe(hasWeather)
    expect(matcher.matches(call('get_weather', '{"city": "Bonn"}'))).toBe(false)
    expect(matcher.matches(call('get_time', '{}'))).toBe(hasClock)
    expect(matcher.matches(`${call('get_time', '{}')}\n${call('get_weather', city)}`)).toBe(both)
    expect(matcher.matches('2')).toBe(text)
    expect(matcher.matches('3')).toBe(false)
    expect(matcher.matches('')).toBe(false)
  })

  test('a token that ends the turn is not asked for as text', () => {
    const ending = { ...hermes, endTexts: ['</tool_call>'] }
    const matcher = createMatcher(compile({ tools: [clock], toolChoice: { type: 'required' } }, ending)?.gbnf ?? '')
    expect(matcher.matches('<tool_call>\n{"name": "get_time", "arguments": {}}\n')).toBe(true)
  })

  test('values that are free text end at their mark', () => {
    const qwen = { format: { toolFormat: 'qwen3-coder', startsInReasoning: false }, endTexts: [] }
    const edit: Tool = {
      name: 'edit',
      parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    }
    const gbnf = compile({ tools: [edit], toolChoice: { type: 'required' }, parallelToolCalls: false }, qwen)?.gbnf ?? ''
    const matcher = createMatcher(gbnf)
    const written = (text: string) =>
      `<tool_call>\n<function=edit>\n<parameter=text>\n${text}\n</parameter>\n</function>\n</tool_call>`
    expect(matcher.matches(written('a < b\n"c" </p>'))).toBe(true)
    expect(matcher.matches(written('a\n</parameter>\nb'))).toBe(false)
  })

  test('a call cannot be forced where nobody knows how calls are written', () => {
    const unknown = { format: { startsInReasoning: false }, endTexts: [] }
    const force = () => compile({ tools, toolChoice: { type: 'required' } }, unknown)
    expect(force).toThrow(expect.objectContaining({ code: 'unsupported-field', param: 'tool_choice' }))
  })

  test('a strict tool that a grammar cannot keep is refused by its place', () => {
    const odd: Tool = {
      name: 'odd',
      strict: true,
      parameters: { type: 'object', properties: { a: { type: 'array', uniqueItems: true } } },
    }
    const force = () => compile({ tools: [clock, odd], toolChoice: { type: 'required' } })
    expect(force).toThrow(expect.objectContaining({ param: expect.stringContaining('tools[1].function.parameters') }))
  })

  test.each([
    { name: 'a grammar', output: { type: 'gbnf', grammar: 'root ::= nobody' }, param: 'grammar' },
    { name: 'a pattern', output: { type: 'regex', pattern: '(' }, param: 'regex' },
    { name: 'a schema', output: { type: 'json-schema', schema: { type: 'nothing' }, strict: false }, param: 'response_format' },
  ] as const)('$name that is wrong is refused', ({ output, param }) => {
    expect(() => compile({ output })).toThrow(expect.objectContaining({ status: 400, param: expect.stringContaining(param) }))
  })
})
