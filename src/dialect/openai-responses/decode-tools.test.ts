import { describe, expect, test } from 'vitest'
import { assistant, call } from '../../../test/support/parts.ts'
import type { ToolChoice } from '../../contract/request.ts'
import { decode, failureOf, messagesOf, promptOf } from './__fixtures__/decode.ts'
import { refusedTools } from './tool-schema.ts'

const f = { type: 'function', name: 'f' }
const docs = {
  type: 'namespace',
  name: 'mcp__docs__',
  description: 'Documents.',
  tools: [
    { type: 'function', name: 'search', description: 'Finds one.', parameters: { type: 'object' }, strict: false },
    { type: 'custom', name: 'ask' },
  ],
}
const plain = { type: 'namespace', name: 'functions', description: '', tools: [{ type: 'function', name: 'exec' }] }
const toolsOf = (...tools: readonly object[]) => promptOf(decode({ tools })).tools
const choose = (tool_choice: unknown, ...tools: readonly object[]) => decode({ tools, tool_choice }).request.toolChoice

describe('tools', () => {
  test.each<[string, object, object]>([
    ['a function', f, { name: 'f' }],
    [
      'a function with all fields',
      { ...f, description: 'D', parameters: { type: 'object', properties: {} }, strict: true },
      { name: 'f', description: 'D', parameters: { type: 'object', properties: {} }, strict: true },
    ],
    ['a custom tool', { type: 'custom', name: 'c', description: 'D' }, { type: 'custom', name: 'c', description: 'D' }],
    ['a custom tool of texts', { type: 'custom', name: 'c', format: { type: 'text' } }, { type: 'custom', name: 'c' }],
    [
      'a custom tool with a grammar',
      { type: 'custom', name: 'c', format: { type: 'grammar', syntax: 'lark', definition: 'start: "a"' } },
      { type: 'custom', name: 'c', grammar: { syntax: 'lark', definition: 'start: "a"' } },
    ],
  ])('%s', (_, tool, expected) => {
    expect(toolsOf(tool)).toEqual([expected])
  })

  test('in a namespace have names that say so; its description comes with the first', () => {
    expect(toolsOf(docs)).toEqual([
      {
        name: 'mcp__docs__search',
        description: 'Documents.\n\nFinds one.',
        parameters: { type: 'object' },
        strict: false,
      },
      { type: 'custom', name: 'mcp__docs__ask' },
    ])
  })

  test('in Codex’s namespace of plain functions keep their names', () => {
    expect(toolsOf(plain)).toMatchObject([{ name: 'exec' }])
  })

  test('have different names for models, also where a namespace makes them equal or long', () => {
    const long = { ...docs, name: 'n'.repeat(60) }
    const names = toolsOf({ ...f, name: 'mcp__docs__search' }, docs, long).map(({ name }) => name)
    expect(new Set(names).size).toBe(5)
    expect(names.filter((name) => name.length > 64)).toEqual([])
    expect(toolsOf({ ...f, name: 'mcp__docs__search' }, docs, long).map(({ name }) => name)).toEqual(names)
  })

  test.each(['web_search', 'web_search_preview_2025_03_11', 'image_generation', 'tool_search', 'a_later_tool'])(
    '%s, which agents declare by habit, is left out beside a function, which is listed, and refused alone',
    (type) => {
      const decoded = decode({ tools: [{ type, some: 'option' }, f] })
      expect(decoded.ignored).toEqual([`tools[0].${type}`])
      expect(promptOf(decoded).tools).toEqual([{ name: 'f' }])
      expect(failureOf({ tools: [{ type, some: 'option' }] })).toMatchObject({
        code: 'unsupported-field',
        param: 'tools[0].type',
      })
    },
  )

  test.each([...refusedTools])('%s, on which callers rely, is refused by name, also in the input', (type) => {
    const tool = { type, server_label: 'docs' }
    const { message, param } = failureOf({ tools: [f, tool] })
    expect([param, message]).toEqual(['tools[1].type', expect.stringContaining(`"${type}" is a tool that is not run here`)])
    const input = [
      { type: 'additional_tools', tools: [tool] },
      { role: 'user', content: 'hi' },
    ]
    expect(failureOf({ tools: [f], input }).param).toBe('input[0].tools[0].type')
  })

  test.each<[readonly object[], string]>([
    [[f, f], 'tools[1].name'],
    [[docs, docs], 'tools[1].tools[0].name'],
    [[{ type: 'function' }], 'tools[0].name'],
    [[{ type: 'function', name: 'a b' }], 'tools[0].name'],
    [[{ ...f, parameters: { type: 'array' } }], 'tools[0].parameters.type'],
    [[{ ...docs, tools: [{ type: 'web_search' }] }], 'tools[0].tools[0].type'],
    [[{ type: 'custom', name: 'c', format: { type: 'grammar', syntax: 'ebnf', definition: '' } }], 'tools[0].format.syntax'],
  ])('%j are refused by name', (tools, param) => {
    expect(failureOf({ tools }).param).toBe(param)
  })

  test('in errors have the places that they had in the request', () => {
    const { nameOf } = decode({ tools: [{ type: 'web_search' }, docs, f] })
    expect(nameOf(['prompt', 'tools', 1, 'grammar', 'definition'])).toBe('tools[1].tools[1].format.definition')
    expect(nameOf(['prompt', 'tools', 2, 'parameters', 'type'])).toBe('tools[2].parameters.type')
  })
})

describe('a call in the history', () => {
  test.each<[object, object, string]>(
    [
      ['mcp__docs__', docs, 'mcp__docs__search'],
      ['mcp__gone__', docs, 'mcp__gone__search'],
    ].map(([namespace, tool, name]) => [{ namespace }, tool, name] as [object, object, string]),
  )('with %j has the name that the tool has now', (place, tool, name) => {
    const input = [{ type: 'function_call', call_id: 'c1', name: 'search', arguments: '{}', ...place }]
    expect(messagesOf({ input, tools: [tool] })).toEqual([assistant(call('c1', name, '{}'))])
  })
})

describe('the choice of a tool', () => {
  test.each<[unknown, ToolChoice]>([
    [undefined, { type: 'auto' }],
    ['auto', { type: 'auto' }],
    ['none', { type: 'none' }],
    ['required', { type: 'required' }],
    [
      { type: 'function', name: 'f' },
      { type: 'required', names: ['f'] },
    ],
    [
      { type: 'function', name: 'exec' },
      { type: 'required', names: ['exec'] },
    ],
    [
      { type: 'function', name: 'exec', namespace: 'functions' },
      { type: 'required', names: ['exec'] },
    ],
    [
      { type: 'function', name: 'search', namespace: 'mcp__docs__' },
      { type: 'required', names: ['mcp__docs__search'] },
    ],
    [
      { type: 'custom', name: 'ask', namespace: 'mcp__docs__' },
      { type: 'required', names: ['mcp__docs__ask'] },
    ],
    [
      { type: 'allowed_tools', mode: 'auto', tools: [f, { type: 'namespace', name: 'mcp__docs__' }, f] },
      { type: 'auto', names: ['f', 'mcp__docs__search', 'mcp__docs__ask'] },
    ],
    [
      { type: 'allowed_tools', mode: 'required', tools: [{ type: 'web_search' }, f] },
      { type: 'required', names: ['f'] },
    ],
    [{ type: 'allowed_tools', mode: 'auto', tools: [{ type: 'web_search' }] }, { type: 'none' }],
  ])('%j is %j', (choice, expected) => {
    expect(choose(choice, f, docs, plain)).toEqual(expected)
  })

  test('lists tools that run elsewhere', () => {
    const tool_choice = { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'web_search' }, f] }
    expect(decode({ tools: [f], tool_choice }).ignored).toEqual(['tool_choice.tools[0]'])
  })

  test.each<[unknown, string]>([
    [{ type: 'web_search' }, 'unsupported-field'],
    [{ type: 'mcp', server_label: 'a' }, 'unsupported-field'],
    [{ type: 'function', name: 'g' }, 'invalid-request'],
    [{ type: 'function', name: 'search' }, 'invalid-request'],
    [{ type: 'allowed_tools', mode: 'required', tools: [{ type: 'web_search' }] }, 'invalid-request'],
    [{ type: 'allowed_tools', mode: 'auto', tools: [{ type: 'namespace', name: 'n' }] }, 'invalid-request'],
  ])('%j cannot be met, which is said', (tool_choice, code) => {
    expect(failureOf({ tools: [f, docs], tool_choice })).toMatchObject({ code, param: 'tool_choice' })
  })

  test('requires a tool that can be called', () => {
    expect(failureOf({ tools: [], tool_choice: 'required' }).param).toBe('tool_choice')
    expect(choose('none')).toEqual({ type: 'none' })
  })
})
