import { describe, expect, test, vi } from 'vitest'
import { AppError } from '../../contract/errors.ts'
import type { GenerationRequest, Tool } from '../../contract/request.ts'
import { decodeChat } from './decode.ts'

const base = { model: 'm', messages: [{ role: 'user', content: 'hi' }] }
const f = { type: 'function', function: { name: 'f' } }
const g = { type: 'function', function: { name: 'g' } }

function requestOf(fields: object): GenerationRequest {
  return decodeChat({ ...base, ...fields }, 'x').request
}

function toolsOf(fields: object): readonly Tool[] {
  const { prompt } = requestOf(fields)
  return prompt.type === 'chat' ? prompt.tools : []
}

function failureOf(fields: object): AppError {
  try {
    requestOf(fields)
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
  throw new Error('the body was accepted')
}

describe('tools', () => {
  test('are decoded in order, with what was said of them and nothing else', () => {
    const parameters = { type: 'object', properties: { a: { type: 'string' } } }
    const full = { type: 'function', function: { name: 'get_weather-2.0', description: 'd', parameters, strict: true } }
    const nulls = { function: { name: 'g', description: null, parameters: null, strict: null } }
    expect(toolsOf({ tools: [full, nulls, f] })).toEqual([
      { name: 'get_weather-2.0', description: 'd', parameters, strict: true },
      { name: 'g' },
      { name: 'f' },
    ])
  })

  test('custom ones may have a grammar', () => {
    const custom = (format?: object) => ({ type: 'custom', custom: { name: 'c', description: 'd', ...(format && { format }) } })
    const grammar = { syntax: 'lark', definition: 'start: "a"' }
    const plain = { type: 'custom', name: 'c', description: 'd' }
    expect(toolsOf({ tools: [custom()] })).toEqual([plain])
    expect(toolsOf({ tools: [custom({ type: 'text' })] })).toEqual([plain])
    expect(toolsOf({ tools: [custom({ type: 'grammar', grammar })] })).toEqual([{ ...plain, grammar }])
  })

  test('that share a name are both named', () => {
    const tools = [f, { type: 'custom', custom: { name: 'f' } }]
    expect(failureOf({ tools }).message).toBe('tools[1].custom.name "f" is also tools[0].function.name: names must differ')
  })

  test('an empty list is none', () => {
    expect(requestOf({ tools: [] })).toEqual(requestOf({}))
  })

  test.each<{ type: unknown }>([{ type: ['object'] }, { type: ['null', 'object'] }, { type: null }])(
    'parameters of $type may be an object',
    ({ type }) => {
      const parameters = { type, properties: { a: {} } }
      const { prompt } = requestOf({ tools: [{ type: 'function', function: { name: 'g', parameters } }] })
      expect(prompt.type === 'chat' && prompt.tools).toEqual([{ name: 'g', parameters }])
    },
  )

  test.each<[unknown, string]>([
    [{}, 'tools'],
    [['f'], 'tools[0]'],
    [[{ type: 'function' }], 'tools[0].function'],
    [[{ type: 'function', function: {} }], 'tools[0].function.name'],
    [[{ type: 'function', function: { name: '' } }], 'tools[0].function.name'],
    [[{ type: 'function', function: { name: 'get weather' } }], 'tools[0].function.name'],
    [[{ type: 'function', function: { name: 'x'.repeat(65) } }], 'tools[0].function.name'],
    [[f, { type: 'function', function: { name: 'g', parameters: [1] } }], 'tools[1].function.parameters'],
    [[f, { type: 'function', function: { name: 'g', parameters: { type: 'string' } } }], 'tools[1].function.parameters.type'],
    [
      [{ type: 'function', function: { name: 'g', parameters: { type: ['array', 'null'] } } }],
      'tools[0].function.parameters.type',
    ],
    [[f, g, f], 'tools[2].function.name'],
    [[{ type: 'custom' }], 'tools[0].custom'],
    [[{ type: 'custom', custom: { name: '' } }], 'tools[0].custom.name'],
    [[{ type: 'custom', custom: { name: 'c', format: { type: 'json' } } }], 'tools[0].custom.format.type'],
    [[{ type: 'custom', custom: { name: 'c', format: { type: 'grammar' } } }], 'tools[0].custom.format.grammar'],
    [[f, { type: 'custom', custom: { name: 'f' } }], 'tools[1].custom.name'],
  ])('%j is refused with its param', (tools, param) => {
    expect(failureOf({ tools })).toMatchObject({ code: 'invalid-request', param })
  })

  test.each(['web_search', 'code_interpreter'])('a tool of type %s is refused by name', (type) => {
    expect(failureOf({ tools: [f, { type, [type]: { name: 'x' } }] })).toMatchObject({
      code: 'unsupported-field',
      param: 'tools[1].type',
    })
  })

  test('parameters too deep to walk are refused, and ordinary nesting is not', () => {
    const nested = (depth: number): object => (depth === 0 ? {} : { properties: nested(depth - 1) })
    const withDepth = (depth: number) => ({ tools: [{ function: { name: 'f', parameters: nested(depth) } }] })
    expect(toolsOf(withDepth(90))).toHaveLength(1)
    expect(failureOf(withDepth(5000))).toMatchObject({ code: 'invalid-request', param: 'tools[0].function.parameters' })
  })
})

describe('tool_choice', () => {
  const c = { type: 'custom', custom: { name: 'c' } }
  const tools = [f, g, c]
  const named = (name: string) => ({ type: 'function', function: { name } })
  const allowed = (mode: string, ...names: string[]) => ({
    type: 'allowed_tools',
    allowed_tools: { mode, tools: names.map(named) },
  })

  test.each<[unknown, object]>([
    [undefined, { type: 'auto' }],
    [null, { type: 'auto' }],
    ['auto', { type: 'auto' }],
    ['none', { type: 'none' }],
    ['required', { type: 'required' }],
    [named('g'), { type: 'required', names: ['g'] }],
    [allowed('auto', 'g'), { type: 'auto', names: ['g'] }],
    [allowed('required', 'g', 'f', 'g'), { type: 'required', names: ['g', 'f'] }],
    [c, { type: 'required', names: ['c'] }],
    [
      { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [c, f] } },
      { type: 'auto', names: ['c', 'f'] },
    ],
  ])('%j means %j', (tool_choice, expected) => {
    expect(requestOf({ tools, tool_choice }).toolChoice).toEqual(expected)
  })

  test.each<[unknown, string]>([
    ['some', 'tool_choice'],
    [5, 'tool_choice'],
    [named('h'), 'tool_choice'],
    [{ type: 'function' }, 'tool_choice.function'],
    [{ type: 'function', function: {} }, 'tool_choice.function.name'],
    [{ type: 'tool' }, 'tool_choice.type'],
    [named('c'), 'tool_choice'],
    [{ type: 'custom', custom: { name: 'f' } }, 'tool_choice'],
    [{ type: 'custom' }, 'tool_choice.custom'],
    [{ type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [{ type: 'custom' }] } }, 'tool_choice'],
    [allowed('auto', 'f', 'h'), 'tool_choice'],
    [allowed('auto'), 'tool_choice.allowed_tools.tools'],
    [allowed('some', 'f'), 'tool_choice.allowed_tools.mode'],
    [{ type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [{ type: 'function' }] } }, 'tool_choice'],
  ])('%j is refused with its param', (tool_choice, param) => {
    expect(failureOf({ tools, tool_choice })).toMatchObject({ code: 'invalid-request', param })
  })

  test('a tool that is not declared is told with those that are', () => {
    expect(failureOf({ tools, tool_choice: named('h') }).message).toBe(
      'tool_choice names "h", which is not declared; the declared functions are ["f","g"]',
    )
  })

  test('an allowed tool of another type is not supported', () => {
    const tool_choice = { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [{ type: 'web_search' }] } }
    expect(failureOf({ tools, tool_choice })).toMatchObject({ code: 'unsupported-field', param: 'tool_choice' })
  })

  test.each(['required', named('f')])('%j without tools is refused, as OpenAI does', (tool_choice) => {
    for (const none of [{}, { tools: [] }, { tools: null }]) {
      expect(failureOf({ ...none, tool_choice })).toMatchObject({ code: 'invalid-request', param: 'tool_choice' })
    }
  })

  test('none and auto change nothing without tools', () => {
    expect(requestOf({ tool_choice: 'none' }).toolChoice).toEqual({ type: 'none' })
    expect(requestOf({ tool_choice: 'auto' })).toEqual(requestOf({}))
  })
})

describe('parallel_tool_calls', () => {
  test.each([
    [undefined, true],
    [null, true],
    [true, true],
    [false, false],
  ])('%j allows several calls: %j', (parallel_tool_calls, expected) => {
    expect(requestOf({ tools: [f], parallel_tool_calls }).parallelToolCalls).toBe(expected)
  })
})

describe('the deprecated functions', () => {
  const functions = [{ name: 'f', description: 'd', parameters: { type: 'object' } }, { name: 'g' }]

  test('are tools of which one is called at a time, and answered in the old form', () => {
    const call = decodeChat({ ...base, functions }, 'x')
    expect(toolsOf({ functions })).toEqual(functions)
    expect(call.request).toMatchObject({ toolChoice: { type: 'auto' }, parallelToolCalls: false })
    expect(call.legacyCalls).toBe(true)
    expect(decodeChat({ ...base, tools: [f] }, 'x').legacyCalls).toBe(false)
  })

  test.each<[unknown, object]>([
    ['auto', { type: 'auto' }],
    ['none', { type: 'none' }],
    [{ name: 'g' }, { type: 'required', names: ['g'] }],
  ])('function_call %j means %j', (function_call, expected) => {
    expect(requestOf({ functions, function_call }).toolChoice).toEqual(expected)
  })

  test.each<[object, string]>([
    [{ functions: [{ name: 'a b' }] }, 'functions[0].name'],
    [{ functions: [{ name: 'f' }, { name: 'f' }] }, 'functions[1].name'],
    [{ functions, function_call: { name: 'h' } }, 'function_call'],
    [{ functions, function_call: 'required' }, 'function_call'],
    [{ function_call: { name: 'f' } }, 'function_call'],
    [{ tools: [f], function_call: { name: 'f' } }, 'function_call'],
    [{ tools: [f], functions }, 'functions'],
    [{ functions, tool_choice: 'auto' }, 'functions'],
  ])('%j is refused with its param', (fields, param) => {
    expect(failureOf(fields)).toMatchObject({ code: 'invalid-request', param })
  })

  test('an empty list is none, beside tools as well', () => {
    expect(requestOf({ tools: [f], functions: [] })).toEqual(requestOf({ tools: [f] }))
  })
})

test('of thousands of tools, thousands may be allowed, and no list is searched for each', () => {
  const tools = Array.from({ length: 2000 }, (_, index) => ({ type: 'function', function: { name: `tool_${index}` } }))
  const some = vi.spyOn(Array.prototype, 'some')
  const { toolChoice } = requestOf({ tools, tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools } } })
  const searches = some.mock.calls.length
  some.mockRestore()
  expect(toolChoice).toMatchObject({ names: { length: 2000 } })
  expect(searches).toBeLessThan(2000)
})
