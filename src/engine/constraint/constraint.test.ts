import { describe, expect, test } from 'vitest'
import { createMatcher } from '../../../test/support/llama/gbnf-matcher.ts'
import { plainRequest, type Tool } from '../../contract/request.ts'
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

/** The codes of what is the caller's fault. */

describe('compileConstraint', () => {
  test('a request without constraints is not constrained', () => {
    expect(compile({})).toBeUndefined()
    expect(compile({ tools })).toBeUndefined()
    expect(compile({ tools, toolChoice: { type: 'none' } })).toBeUndefined()
  })

  test('a constraint reports how much of the wanted output is certain', () => {
    expect(compile({ output: schema })?.structured).toBe('full')
    expect(compile({ output: { type: 'json-object' } })?.structured).toBe('full')
    expect(compile({ output: { type: 'regex', pattern: 'a+' } })?.structured).toBe('full')
    expect(compile({ tools, toolChoice: { type: 'required' } })?.structured).toBeUndefined()
  })

  test.each([
    { name: 'required', wanted: { toolChoice: { type: 'required' } }, weather: true, clock: true, both: true, text: false },
    {
      name: 'required, one at most',
      wanted: { toolChoice: { type: 'required' }, parallelToolCalls: false },
      weather: true,
      clock: true,
      both: false,
      text: false,
    },
    {
      name: 'required by name',
      wanted: { toolChoice: { type: 'required', names: ['get_time'] } },
      weather: false,
      clock: true,
      both: false,
      text: false,
    },
    {
      name: 'required, beside a schema',
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

  test('a token that ends the turn is not required as text', () => {
    const ending = { ...hermes, endTexts: ['</tool_call>'] }
    const matcher = createMatcher(compile({ tools: [clock], toolChoice: { type: 'required' } }, ending)?.gbnf ?? '')
    expect(matcher.matches('<tool_call>\n{"name": "get_time", "arguments": {}}\n')).toBe(true)
  })

  test('values that are free text end at their closing tag', () => {
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

  test('a call cannot be required of a model whose format of calls is unknown', () => {
    const unknown = { format: { startsInReasoning: false }, endTexts: [] }
    const require = () => compile({ tools, toolChoice: { type: 'required' } }, unknown)
    expect(require).toThrow(expect.objectContaining({ code: 'unsupported-field', at: ['toolChoice'] }))
  })

  test('a strict tool that a grammar cannot enforce is refused with its path', () => {
    const odd: Tool = {
      name: 'odd',
      strict: true,
      parameters: { type: 'object', properties: { a: { type: 'array', uniqueItems: true } } },
    }
    const require = () => compile({ tools: [clock, odd], toolChoice: { type: 'required' } })
    expect(require).toThrow(expect.objectContaining({ at: ['prompt', 'tools', 1, 'parameters', expect.any(String)] }))
  })

  test('arguments that stand alone keep the references of their schema, and their own limits', () => {
    const qwen = { format: { toolFormat: 'qwen3-coder', startsInReasoning: false }, endTexts: [] }
    const parameters = {
      $ref: '#/$defs/arguments',
      $defs: {
        arguments: {
          type: 'object',
          properties: { unit: { $ref: '#/$defs/unit' }, at: { $ref: '#/$defs/at' } },
          required: ['unit'],
        },
        unit: { enum: ['C', 'F'] },
        at: { anyOf: [{ type: 'string', maxLength: 3 }, { type: 'null' }] },
      },
    }
    const wanted: Partial<Wanted> = {
      tools: [{ name: 'f', parameters }],
      toolChoice: { type: 'required' },
      parallelToolCalls: false,
    }
    const matcher = createMatcher(compile(wanted, qwen)?.gbnf ?? '')
    const written = (unit: string, at: string) =>
      `<tool_call>\n<function=f>\n<parameter=unit>\n${unit}\n</parameter>\n<parameter=at>\n${at}\n</parameter>\n</function>\n</tool_call>`
    expect(matcher.matches(written('C', 'abc'))).toBe(true)
    expect(matcher.matches(written('C', 'null'))).toBe(true)
    expect(matcher.matches(written('C', 'abcde'))).toBe(false)
    expect(matcher.matches(written('K', 'abc'))).toBe(false)
  })

  test('a strict tool whose arguments depend on each other is refused where they are written one by one', () => {
    const qwen = { format: { toolFormat: 'qwen3-coder', startsInReasoning: false }, endTexts: [] }
    const either: Tool = {
      name: 'either',
      strict: true,
      parameters: { type: 'object', anyOf: [{ required: ['a'] }, { required: ['b'] }] },
    }
    expect(() => compile({ tools: [either], toolChoice: { type: 'required' } }, qwen)).toThrow(
      expect.objectContaining({ code: 'unsupported-field', at: ['prompt', 'tools', 0, 'parameters', 'anyOf'] }),
    )
  })

  test('there are at most sixteen calls', () => {
    const matcher = createMatcher(compile({ tools: [clock], toolChoice: { type: 'required' } })?.gbnf ?? '')
    const calls = (count: number) => Array.from({ length: count }, () => call('get_time', '{}')).join('\n')
    expect(matcher.matches(calls(16))).toBe(true)
    expect(matcher.matches(calls(17))).toBe(false)
  })

  test('calls with an index are numbered in order', () => {
    const kimi = { format: { toolFormat: 'kimi-k2', startsInReasoning: false }, endTexts: [] }
    const matcher = createMatcher(compile({ tools: [clock], toolChoice: { type: 'required' } }, kimi)?.gbnf ?? '')
    const written = (...numbers: number[]) =>
      `<|tool_calls_section_begin|>${numbers.map((number) => `<|tool_call_begin|>functions.get_time:${number}<|tool_call_argument_begin|>{}<|tool_call_end|>`).join('')}<|tool_calls_section_end|>`
    expect(matcher.matches(written(0))).toBe(true)
    expect(matcher.matches(written(0, 1, 2))).toBe(true)
    expect(matcher.matches(written(0, 0))).toBe(false)
    expect(matcher.matches(written(1))).toBe(false)
  })

  test('a separator that would end the turn leaves one call', () => {
    const gigachat = { format: { toolFormat: 'gigachat-header', startsInReasoning: false }, endTexts: ['<|message_sep|>'] }
    const matcher = createMatcher(compile({ tools: [clock], toolChoice: { type: 'required' } }, gigachat)?.gbnf ?? '')
    const one = 'function call<|role_sep|>\n{"name": "get_time", "arguments": {}}'
    expect(matcher.matches(one)).toBe(true)
    expect(matcher.matches(`${one}<|message_sep|>\n\n${one}`)).toBe(false)
  })

  test.each([
    { name: 'a grammar', output: { type: 'gbnf', grammar: 'root ::= nobody' }, at: ['output'] },
    { name: 'a pattern', output: { type: 'regex', pattern: '(' }, at: ['output'] },
    {
      name: 'a schema',
      output: { type: 'json-schema', schema: { type: 'nothing' }, strict: false },
      at: ['output', 'schema', 'type'],
    },
  ] as const)('$name that is invalid is refused by its place', ({ output, at }) => {
    expect(() => compile({ output })).toThrow(expect.objectContaining({ code: 'invalid-request', at }))
  })
})
