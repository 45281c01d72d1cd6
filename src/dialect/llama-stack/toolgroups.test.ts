import { describe, expect, test } from 'vitest'
import { failureOfCall } from '../../../test/support/failure-of.ts'
import type { AppError } from '../../contract/errors.ts'
import { decodeChat } from './decode-chat.ts'

const available = new Set(['web_search', 'python', 'docs'])

function decode(fields: object, serverTools?: ReadonlySet<string>) {
  return decodeChat({ model_id: 'm', messages: [{ role: 'user', content: 'hi' }], ...fields }, 'stack-1', serverTools)
}

function failureOf(fields: object, serverTools?: ReadonlySet<string>): AppError {
  return failureOfCall(() => decode(fields, serverTools))
}

describe('toolgroups', () => {
  test.each<[readonly unknown[], readonly string[]]>([
    [['builtin::websearch'], ['web_search']],
    [['brave_search', 'builtin::websearch'], ['web_search']],
    [['builtin::code_interpreter'], ['python']],
    [['code_interpreter'], ['python']],
    [[{ name: 'mcp::docs', args: {} }], ['docs']],
  ])('%j are tools that the server runs', (toolgroups, names) => {
    const { requests } = decode({ toolgroups }, available)
    expect(requests[0].toolUse).toMatchObject({ names, asks: 'never', heals: true })
  })

  test('the tools of a request stay the client’s, also those that the server has', () => {
    const { requests } = decode({ tools: [{ tool_name: 'brave_search' }] }, available)
    expect(requests[0]).toMatchObject({ prompt: { tools: [{ name: 'brave_search' }] } })
    expect(requests[0].toolUse).toBeUndefined()
  })

  test('none are nothing', () => {
    expect(decode({ toolgroups: [] }).requests[0].toolUse).toBeUndefined()
  })

  test('arguments of a group have no effect, which is listed', () => {
    expect(decode({ toolgroups: [{ name: 'mcp::docs', args: { a: 1 } }] }, available).ignored).toEqual(['toolgroups[].args'])
  })

  test.each<[object, string]>([
    [{ toolgroups: ['builtin::wolfram_alpha'] }, 'toolgroups[0]'],
    [{ toolgroups: ['brave_search', { name: 'mcp::other' }] }, 'toolgroups[1].name'],
    [{ toolgroups: ['brave_search'], tool_config: { tool_prompt_format: 'json' } }, 'toolgroups'],
  ])('%j are refused by name', (fields, param) => {
    expect(failureOf(fields, available)).toMatchObject({ code: 'unsupported-field', param })
  })

  test('for a caller who may not use them, they are refused', () => {
    expect(failureOf({ toolgroups: ['brave_search'] }).param).toBe('toolgroups[0]')
  })
})
