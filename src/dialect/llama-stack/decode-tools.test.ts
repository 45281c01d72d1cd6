import { describe, expect, test } from 'vitest'
import { failureOfCall } from '../../../test/support/failure-of.ts'
import type { AppError } from '../../contract/errors.ts'
import { decodeTools } from './decode-tools.ts'
import type { ToolWire } from './schema.ts'

const f = { tool_name: 'f' }
const g = { tool_name: 'g' }

function failureOf(wire: ToolWire): AppError {
  return failureOfCall(() => decodeTools(wire))
}

describe('definitions', () => {
  test.each<[string, unknown]>([
    ['int', { type: 'integer' }],
    ['float', { type: 'number' }],
    ['bool', { type: 'boolean' }],
    ['str', { type: 'string' }],
    ['string', { type: 'string' }],
    ['list', { type: 'array' }],
    ['dict', { type: 'object' }],
    ['list[int]', { type: 'array', items: { type: 'integer' } }],
    ['list[list[str]]', { type: 'array', items: { type: 'array', items: { type: 'string' } } }],
  ])('the type %s', (param_type, schema) => {
    const { tools } = decodeTools({ tools: [{ ...f, parameters: { a: { param_type } } }] })
    expect(tools[0]?.parameters).toEqual({ type: 'object', properties: { a: schema }, required: ['a'] })
  })

  test.each(['date', 'list[date]', 'list[', 'constructor'])('the type %s is refused by name', (param_type) => {
    expect(failureOf({ tools: [f, { ...g, parameters: { a: { param_type } } }] })).toMatchObject({
      code: 'invalid-request',
      param: 'tools[1].parameters.a.param_type',
    })
  })

  test('parameters are required unless they say otherwise, and 0, false and "" are defaults', () => {
    const parameters = {
      a: { param_type: 'int', description: 'A.' },
      b: { param_type: 'int', required: false, default: 0 },
      c: { param_type: 'bool', required: false, default: false },
      d: { param_type: 'str', required: false, default: '' },
      e: { param_type: 'str', required: true, default: null },
    }
    const { tools } = decodeTools({ tools: [{ ...f, description: 'Does it.', parameters }] })
    expect(tools).toEqual([
      {
        name: 'f',
        description: 'Does it.',
        parameters: {
          type: 'object',
          properties: {
            a: { type: 'integer', description: 'A.' },
            b: { type: 'integer', default: 0 },
            c: { type: 'boolean', default: false },
            d: { type: 'string', default: '' },
            e: { type: 'string' },
          },
          required: ['a', 'e'],
        },
      },
    ])
  })

  test('a tool without parameters has no schema, and one of only optional ones requires none', () => {
    const { tools } = decodeTools({
      tools: [
        { ...f, parameters: {} },
        { ...g, parameters: { a: { param_type: 'int', required: false } } },
      ],
    })
    expect(tools).toEqual([{ name: 'f' }, { name: 'g', parameters: { type: 'object', properties: { a: { type: 'integer' } } } }])
  })

  test.each([
    ['brave_search', 'query'],
    ['wolfram_alpha', 'query'],
    ['photogen', 'query'],
    ['code_interpreter', 'code'],
  ])('%s takes %s without saying so', (tool_name, parameter) => {
    expect(decodeTools({ tools: [{ tool_name }] }).tools).toMatchObject([
      { name: tool_name, description: expect.any(String), parameters: { required: [parameter] } },
    ])
    const own = { tool_name, description: 'Mine.', parameters: { x: { param_type: 'int' } } }
    expect(decodeTools({ tools: [own] }).tools).toMatchObject([{ description: 'Mine.', parameters: { required: ['x'] } }])
  })

  test('names differ', () => {
    expect(failureOf({ tools: [f, g, f] }).param).toBe('tools[2].tool_name')
  })
})

describe('the choice', () => {
  test.each<[ToolWire, object]>([
    [{}, { type: 'auto' }],
    [{ tool_choice: 'none' }, { type: 'none' }],
    [{ tool_choice: 'required' }, { type: 'required' }],
    [{ tool_config: { tool_choice: 'required' } }, { type: 'required' }],
    [{ tool_config: { tool_choice: 'g' } }, { type: 'required', names: ['g'] }],
    [{ tool_choice: 'required', tool_config: { tool_choice: 'required' } }, { type: 'required' }],
    [{ tool_choice: 'required', tool_config: {} }, { type: 'required' }],
  ])('%j', (wire, toolChoice) => {
    expect(decodeTools({ tools: [f, g], ...wire }).toolChoice).toEqual(toolChoice)
  })

  test.each<[ToolWire, string, RegExp]>([
    [{ tool_choice: 'auto', tool_config: { tool_choice: 'required' } }, 'tool_choice', /contradict/],
    [{ tool_prompt_format: 'json', tool_config: { tool_prompt_format: 'python_list' } }, 'tool_prompt_format', /contradict/],
    [{ tool_config: { tool_choice: 'h' } }, 'tool_config.tool_choice', /expected one of \["auto","required","none","f","g"\]/],
    [{ tools: [], tool_choice: 'required' }, 'tool_choice', /needs a tool/],
  ])('%j is refused', (wire, param, message) => {
    expect(failureOf({ tools: [f, g], ...wire })).toMatchObject({ param, message: expect.stringMatching(message) })
  })
})
