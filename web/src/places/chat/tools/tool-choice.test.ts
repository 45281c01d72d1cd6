import { describe, expect, test } from 'vitest'
import { choicesOf, type ListedTool, partOf, withChoice, withTool } from './tool-choice.ts'

const tool = (name: string, server?: string): ListedTool => ({
  name,
  description: '',
  needs_approval: false,
  ...(server !== undefined && { server, server_tool: name.slice(server.length + 2) }),
})
const search = tool('docs__search', 'docs')
const read = tool('docs__read', 'docs')
const listed = { tools: [tool('web_search'), search, read], absent: [{ name: 'git', why: 'it ended' }] }
const choiceOf = (name: string) => choicesOf(listed, []).find((choice) => choice.name === name) ?? expect.fail()

describe('the tools that a conversation may switch on', () => {
  test('are those of the server, MCP servers with theirs, and those that are absent or no longer there', () => {
    const shown = choicesOf(listed, ['docs__read', 'gone', 'docs__gone']).map(({ name, tools, problems }) => [
      name,
      tools.length,
      ...problems,
    ])
    expect(shown).toEqual([
      ['web_search', 0],
      ['docs', 2],
      ['git', 0, 'it ended'],
      ['gone', 0],
      ['docs__gone', 0],
    ])
  })

  test('an MCP server is on by its name while all of its tools are', () => {
    const docs = choiceOf('docs')
    const one = withTool(['web_search'], docs, read, true)
    expect([one, partOf(docs, one)]).toEqual([['web_search', 'docs__read'], 'some'])
    const both = withTool(one, docs, search, true)
    expect([both, partOf(docs, both)]).toEqual([['web_search', 'docs'], 'all'])
    expect(withTool(both, docs, read, false)).toEqual(['web_search', 'docs__search'])
    expect(withChoice(one, docs, true)).toEqual(['web_search', 'docs'])
    const none = withChoice(one, docs, false)
    expect([none, partOf(docs, none)]).toEqual([['web_search'], 'none'])
  })
})
