import { describe, expect, test } from 'vitest'
import type { ToolChoice } from '../../contract/request.ts'
import type { ServerTool } from '../../contract/server-tool.ts'
import { allowedTools, laterChoice, resolveChoice } from './choice.ts'

const tool = (name: string, server?: string): ServerTool => ({
  name,
  kind: server === undefined ? 'python' : 'mcp',
  ...(server !== undefined && { mcp: { server, name } }),
  description: '',
  parameters: {},
  run: async () => ({ text: '', isError: false }),
})
const tools = new Map([tool('python'), tool('docs__read', 'docs'), tool('docs__list', 'docs')].map((one) => [one.name, one]))
const declared = [{ name: 'weather' }]

describe('a choice', () => {
  test.each<[ToolChoice, ToolChoice]>([
    [{ type: 'auto' }, { type: 'auto' }],
    [{ type: 'none' }, { type: 'none' }],
    [{ type: 'required' }, { type: 'required' }],
    [
      { type: 'required', names: ['docs'] },
      { type: 'required', names: ['docs__read', 'docs__list'] },
    ],
    [
      { type: 'auto', names: ['weather', 'python', 'docs'] },
      { type: 'auto', names: ['weather', 'python', 'docs__read', 'docs__list'] },
    ],
    [{ type: 'auto', names: ['other'] }, { type: 'none' }],
  ])('%j of tools and servers is %j', (choice, expected) => {
    expect(resolveChoice(choice, tools, declared)).toEqual(expected)
  })

  test('a choice of the caller’s own tool is not one of a server with the same name', () => {
    const choice: ToolChoice = { type: 'required', names: ['docs'] }
    expect(resolveChoice(choice, tools, [{ name: 'docs' }])).toEqual(choice)
  })

  test('a choice that requires what is not there is refused', () => {
    const resolve = () => resolveChoice({ type: 'required', names: ['other'] }, tools, declared)
    expect(resolve).toThrow(expect.objectContaining({ code: 'invalid-request', at: ['toolChoice'] }))
  })
})

test.each<[ToolChoice, readonly string[], ToolChoice]>([
  [{ type: 'auto' }, ['python', 'docs__read', 'docs__list'], { type: 'auto' }],
  [{ type: 'required', names: ['python'] }, ['python', 'docs__read', 'docs__list'], { type: 'auto' }],
  [{ type: 'auto', names: ['python'] }, ['python'], { type: 'auto', names: ['python'] }],
  [{ type: 'required', names: ['python', 'weather'] }, ['python'], { type: 'auto', names: ['python', 'weather'] }],
])('after %j, the tools are %j', (choice, names, later) => {
  expect([...allowedTools(tools, choice).keys()]).toEqual(names)
  expect(laterChoice(choice)).toEqual(later)
})
