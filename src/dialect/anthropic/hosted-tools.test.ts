import { describe, expect, test } from 'vitest'
import { failureOfCall } from '../../../test/support/failure-of.ts'
import { plainSealer as sealer } from '../../../test/support/plain-sealer.ts'
import type { AppError } from '../../contract/errors.ts'
import { decodeMessage } from './decode.ts'

const all = new Set(['web_search', 'python', 'terminal', 'docs'])
const f = { name: 'f', input_schema: { type: 'object' } }
const search = { type: 'web_search_20250305', name: 'web_search' }

function decode(fields: object, serverTools?: ReadonlySet<string>) {
  const body = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }], ...fields }
  return decodeMessage(body, { id: 'msg_1', sealer, serverTools })
}

function failureOf(fields: object, serverTools?: ReadonlySet<string>): AppError {
  return failureOfCall(() => decode(fields, serverTools))
}

describe('tools of the server', () => {
  test.each<[object, object]>([
    [{ tools: [search] }, { names: ['web_search'] }],
    [{ tools: [{ ...search, max_uses: 3 }] }, { names: ['web_search'], maxCalls: { web_search: 3 } }],
    [{ tools: [{ type: 'web_fetch_20250910', name: 'web_fetch' }] }, { names: ['web_search'] }],
    [{ tools: [{ type: 'code_execution_20250522', name: 'code_execution' }] }, { names: ['python'] }],
    [{ tools: [{ type: 'code_execution_20250825', name: 'code_execution' }] }, { names: ['python', 'terminal'] }],
    [
      { tools: [{ type: 'code_execution_20250825', name: 'code_execution' }], container: 'c1' },
      { names: ['python', 'terminal'], sessionId: 'c1' },
    ],
    [{ mcp_servers: [{ name: 'docs' }] }, { names: [], mcpServers: [{ label: 'docs' }] }],
    [{ tools: [{ type: 'mcp_toolset', mcp_server_name: 'docs' }] }, { mcpServers: [{ label: 'docs' }] }],
    [
      {
        mcp_servers: [
          {
            type: 'url',
            name: 'own',
            url: 'https://a.example/mcp',
            authorization_token: 'secret',
            tool_configuration: { allowed_tools: ['read'] },
          },
        ],
      },
      {
        mcpServers: [
          {
            label: 'own',
            url: 'https://a.example/mcp',
            headers: { authorization: 'Bearer secret' },
            allowedTools: ['read'],
          },
        ],
      },
    ],
    [
      {
        mcp_servers: [{ type: 'url', name: 'own', url: 'https://a.example/mcp' }],
        tools: [
          {
            type: 'mcp_toolset',
            mcp_server_name: 'own',
            default_config: { enabled: false },
            configs: { read: { enabled: true }, write: {} },
          },
        ],
      },
      { mcpServers: [{ label: 'own', url: 'https://a.example/mcp', allowedTools: ['read'] }] },
    ],
  ])('%j', (fields, use) => {
    const { request, ignored } = decode(fields, all)
    expect(request.toolUse).toMatchObject({ ...use, asks: 'never', approves: 'marked', heals: true })
    expect(ignored).toEqual([])
  })

  test('have the sites of searches and of pages, and where the user is', () => {
    const user_location = { type: 'approximate', city: 'Bern', country: 'CH' }
    const searching = { ...search, allowed_domains: ['a.example'], user_location }
    const fetching = {
      type: 'web_fetch_20250910',
      name: 'web_fetch',
      blocked_domains: ['b.example'],
      citations: { enabled: true },
    }
    const { request, ignored } = decode({ tools: [searching, fetching] }, all)
    expect(request.toolUse?.web).toEqual({
      searches: { allowed: ['a.example'] },
      pages: { blocked: ['b.example'] },
      userPlace: 'Bern, CH',
    })
    expect(ignored).toEqual(['tools[1].citations'])
  })

  test('with sites that are not refuse them by name', () => {
    const tools = [{ ...search, allowed_domains: ['https://a.example'] }]
    expect(failureOf({ tools }, all).param).toBe('tools[0].allowed_domains[0]')
  })

  test('stand beside those of the client', () => {
    const { request } = decode({ tools: [f, search] }, all)
    expect(request).toMatchObject({ prompt: { tools: [{ name: 'f' }] }, toolUse: { names: ['web_search'] } })
  })

  test('settings without effect are listed', () => {
    const tool = { ...search, max_uses: 3, citations: { enabled: true }, cache_control: {} }
    const { ignored } = decode({ tools: [tool] }, all)
    expect(ignored).toEqual(['tools[0].citations'])
  })

  test('a server that is switched off is not used', () => {
    const servers = [{ name: 'docs', tool_configuration: { enabled: false } }]
    expect(decode({ mcp_servers: servers }, all).request.toolUse).toBeUndefined()
  })

  test.each<[object, object]>([
    [
      { type: 'tool', name: 'web_search' },
      { type: 'required', names: ['web_search'] },
    ],
    [
      { type: 'tool', name: 'code_execution' },
      { type: 'required', names: ['python', 'terminal'] },
    ],
    [{ type: 'any' }, { type: 'required' }],
  ])('the choice %j', (tool_choice, expected) => {
    const tools = [search, { type: 'code_execution_20250825', name: 'code_execution' }]
    expect(decode({ tools, tool_choice }, all).request.toolChoice).toEqual(expected)
  })

  test.each<[object, string]>([
    [{ mcp_servers: [{ name: 'other' }] }, 'mcp_servers[0].name'],
    [{ mcp_servers: [{ name: 'docs' }, { name: 'docs' }] }, 'mcp_servers[1].name'],
    [{ tools: [{ type: 'mcp_toolset' }] }, 'tools[0].mcp_server_name'],
    [{ tools: [{ type: 'mcp_toolset', mcp_server_name: 'docs', configs: { a: { enabled: false } } }] }, 'tools[0].configs'],
  ])('%j is refused by name', (fields, param) => {
    expect(failureOf(fields, all).param).toBe(param)
  })

  test('in errors have the places that they had in the request', () => {
    const { nameOf } = decode({ mcp_servers: [{ name: 'own', url: 'https://a.example' }] }, all)
    expect(nameOf(['toolUse', 'mcpServers', 0, 'url'])).toBe('mcp_servers[0].url')
  })
})

describe('enable_tools', () => {
  test.each<[object, object]>([
    [{ enable_tools: true }, {}],
    [{ enable_tools: true, enabled_tools: ['python', 'python'] }, { names: ['python'] }],
    [{ enable_tools: true, mcp_servers: [{ name: 'docs' }] }, { mcpServers: [{ label: 'docs' }] }],
  ])('%j enables what the server has', (fields, use) => {
    const expected = { maxTurns: 25, heals: true, approves: 'marked', asks: 'never', sessionId: 'msg_1', ...use }
    expect(decode(fields, all).request.toolUse).toEqual(expected)
  })

  test.each([{ enable_tools: false }, { enable_tools: true, enabled_tools: [] }, { enabled_tools: ['python'] }])(
    '%j enables nothing',
    (fields) => {
      expect(decode(fields, all).request.toolUse).toBeUndefined()
    },
  )

  test('stands alone: a tool of the client beside it is refused', () => {
    expect(failureOf({ enable_tools: true, tools: [f] }, all).param).toBe('tools')
  })
})

describe('for a caller who may not use them', () => {
  test.each<[object, string]>([
    [{ tools: [search] }, 'tools[0].type'],
    [{ tools: [f, { type: 'code_execution_20250825', name: 'code_execution' }] }, 'tools[1].type'],
    [{ tools: [f, { type: 'mcp_toolset', mcp_server_name: 'docs' }] }, 'tools[1].type'],
    [{ mcp_servers: [{ name: 'docs' }] }, 'mcp_servers'],
    [{ tools: [f, search], tool_choice: { type: 'tool', name: 'web_search' } }, 'tool_choice.name'],
  ])('%j is refused by name', (fields, param) => {
    expect(failureOf(fields).param).toBe(param)
  })

  test('a search that agents declare by habit is left out beside others, and listed', () => {
    expect(decode({ tools: [f, search] }).ignored).toEqual(['tools[1].web_search_20250305'])
  })
})
