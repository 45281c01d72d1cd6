import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type McpHttpServer, serveMcp } from '../../../test/support/mcp/http-server.ts'
import type { JsonObject } from '../../contract/request.ts'
import type { ToolListing, ToolSource } from '../../contract/server-tool.ts'
import { createMcpTools } from './mcp-tools.ts'

let server: McpHttpServer
let source: ToolSource

beforeEach(async () => {
  server = await serveMcp('127.0.0.1')
  const target = { type: 'url' as const, url: server.url, headers: {} }
  const servers = new Map([['s', { target, needsApproval: false }]])
  source = createMcpTools({ servers, allowedHosts: [], guard: { allowed: [] }, limits: { answerMs: 5000 } })
})

afterEach(async () => {
  await source.close()
  server.close()
})

const good = { name: 'good', description: 'd', inputSchema: { type: 'object', properties: {} } }
const signal = new AbortController().signal

async function listOf(...tools: readonly unknown[]): Promise<ToolListing> {
  server.handle['tools/list'] = ({ answer }) => answer({ tools, ttlMs: 1000, cacheScope: 'private', resultType: 'complete' })
  return source.list({ principal: { id: 'k', scopes: new Set(['tools']) }, names: ['s'], mcpServers: [], signal })
}

/** The server speaks the revision that repeats arguments in headers. */
function mirror(): void {
  server.handle['server/discover'] = ({ answer }) =>
    answer({
      resultType: 'complete',
      ttlMs: 0,
      cacheScope: 'private',
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {} },
      serverInfo: { name: 'test', version: '1' },
    })
}

const deep = (levels: number): unknown => (levels === 0 ? {} : { not: deep(levels - 1) })
const object = { type: 'object', properties: {} }

describe('beside a good tool, one with', () => {
  test.each<[string, Record<string, unknown>, JsonObject]>([
    ['no schema', {}, object],
    ['a schema of null', { inputSchema: null }, object],
    ['an empty schema', { inputSchema: {} }, object],
    ['an empty list as a schema', { inputSchema: [] }, object],
    ['an empty list of properties', { inputSchema: { type: 'object', properties: [] } }, object],
    ['nulls in its schema', { inputSchema: { $schema: null, properties: null, required: null, description: null } }, object],
    [
      'a nullable schema',
      { inputSchema: { type: ['object', 'null'], properties: { a: { default: null } }, required: ['a', 1] } },
      { type: 'object', properties: { a: { default: null } }, required: ['a'] },
    ],
    [
      'what PHP writes in its arguments',
      {
        inputSchema: {
          type: 'object',
          properties: {
            any: [],
            none: null,
            text: 'string',
            never: false,
            list: { type: 'array', items: [] },
            pair: { type: 'array', items: [{ type: 'string' }, []] },
            inner: { type: 'object', properties: [], required: true, additionalProperties: false },
            either: { anyOf: [{ const: null }, { properties: { a: [] } }] },
          },
        },
      },
      {
        type: 'object',
        properties: {
          any: {},
          none: {},
          text: {},
          never: false,
          list: { type: 'array', items: {} },
          pair: { type: 'array', items: [{ type: 'string' }, {}] },
          inner: { type: 'object', additionalProperties: false },
          either: { anyOf: [{ const: null }, { properties: { a: {} } }] },
        },
      },
    ],
    ['alternatives instead of a type', { inputSchema: { anyOf: [{}] } }, { type: 'object', properties: {}, anyOf: [{}] }],
    ['a title of null', { title: null, inputSchema: object }, object],
    ['a description that is no text', { description: 5, inputSchema: object }, object],
    ['annotations of null', { annotations: null, inputSchema: object }, object],
    ['annotations that are wrong', { annotations: { readOnlyHint: 'yes' }, inputSchema: object }, object],
    ['an output schema of a list', { outputSchema: { type: 'array', items: {} }, inputSchema: object }, object],
    ['icons of null', { icons: null, _meta: null, execution: null, inputSchema: object }, object],
  ])('%s is repaired', async (_, tool, parameters) => {
    const { tools, absent } = await listOf({ name: 'odd', ...tool }, good)
    expect(absent).toEqual([])
    expect(tools.map(({ name }) => name)).toEqual(['s__odd', 's__good'])
    expect(tools[0]?.parameters).toEqual(parameters)
  })

  test.each<[string, unknown, string]>([
    ['nothing', null, 'a tool has no name'],
    ['no name', { inputSchema: object }, 'a tool has no name'],
    ['an empty name', { name: '', inputSchema: object }, 'a tool has no name, or one that is too long'],
    ['a text as a schema', { name: 'odd', inputSchema: 'object' }, "the schema of 'odd' is not an object"],
    ['a schema of a list', { name: 'odd', inputSchema: { type: 'array' } }, "the schema of 'odd' is not one of an object"],
    [
      'a list of properties',
      { name: 'odd', inputSchema: { type: 'object', properties: [{ name: 'a' }] } },
      "the schema of 'odd' has properties that are not an object",
    ],
    ['a deep schema', { name: 'odd', inputSchema: deep(1000) }, "the schema of 'odd' has more than 64 levels"],
  ])('%s is left out, and named', async (_, tool, why) => {
    const { tools, absent } = await listOf(tool, good)
    expect(tools.map(({ name }) => name)).toEqual(['s__good'])
    expect(absent).toEqual([{ name: 's', why }])
  })
})

test('of many bad tools, the first are named', async () => {
  const bad = Array.from({ length: 500 }, (_, index) => ({ name: `bad${index}`, inputSchema: 5 }))
  const { tools, absent } = await listOf(...bad, good)
  expect(tools).toHaveLength(1)
  expect(absent).toHaveLength(21)
  expect(absent.slice(-2).map(({ why }) => why)).toEqual(["the schema of 'bad19' is not an object", 'more of it is left out'])
})

test('a server that writes null for what it does not have is understood', async () => {
  server.handle.initialize = ({ message, answer }) =>
    answer({
      protocolVersion: message.params?.protocolVersion,
      capabilities: { logging: null, resources: null },
      serverInfo: { name: 'test', version: '1', title: null },
      instructions: null,
    })
  server.handle['tools/list'] = ({ answer }) => answer({ tools: [good], nextCursor: null })
  server.handle['tools/call'] = ({ answer }) =>
    answer({
      content: [
        { type: 'text', text: 'yes', annotations: null, _meta: null },
        { type: 'resource', resource: { uri: 'a:b', text: 'and no', mimeType: null }, annotations: null },
      ],
      isError: null,
      structuredContent: null,
    })
  const { tools } = await source.list({ principal: { id: 'k', scopes: new Set() }, names: ['s'], mcpServers: [], signal })
  expect(await tools[0]?.run({ arguments: {}, session: { principalId: 'k', id: 's' }, signal })).toEqual({
    text: 'yes\n(resource a:b)\nand no',
    isError: false,
  })
})

describe('since revision 2026-07-28,', () => {
  const marked = (argument: unknown, more: object = {}) => ({
    name: 'odd',
    inputSchema: { type: 'object', properties: { argument }, ...more },
  })

  test('arguments that a schema marks are headers, too', async () => {
    mirror()
    const region = { type: 'string', 'x-mcp-header': 'Region' }
    const { tools, absent } = await listOf({ name: 'where', inputSchema: { type: 'object', properties: { region, other: {} } } })
    expect(absent).toEqual([])
    server.handle['tools/call'] = ({ answer, request: { headers } }) =>
      answer({
        resultType: 'complete',
        content: [{ type: 'text', text: `${headers['mcp-param-region']} ${headers['mcp-name']}` }],
      })
    const ran = await tools[0]?.run({
      arguments: { region: 'Région', other: 'x' },
      session: { principalId: 'k', id: 's' },
      signal,
    })
    expect(ran).toEqual({ text: '=?base64?UsOpZ2lvbg==?= where', isError: false })
  })

  test('a call with headers that are out of date is made again with those of the new list, and waited for', async () => {
    mirror()
    const { tools } = await listOf({ name: 'where', inputSchema: { type: 'object', properties: { region: { type: 'string' } } } })
    const region = { type: 'string', 'x-mcp-header': 'Region' }
    const wanted = { name: 'where', inputSchema: { type: 'object', properties: { region } } }
    server.handle['tools/list'] = ({ answer }) =>
      answer({ resultType: 'complete', ttlMs: 0, cacheScope: 'private', tools: [wanted] })
    server.handle['tools/call'] = ({ answer, response, request, message: { id } }) => {
      const sent = request.headers['mcp-param-region']
      const content = [{ type: 'text', text: String(sent) }]
      // Longer than a reply that has ended is waited for.
      if (sent !== undefined) return void setTimeout(() => answer({ resultType: 'complete', content }), 100)
      const error = { code: -32020, message: 'the header is missing' }
      response.setHeader('content-type', 'text/event-stream')
      response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id, error })}\n\n`)
    }
    const ran = await tools[0]?.run({ arguments: { region: 'x' }, session: { principalId: 'k', id: 's' }, signal })
    expect(ran).toEqual({ text: 'x', isError: false })
  })

  test.each<[string, object, RegExp]>([
    ['an empty name', marked({ type: 'string', 'x-mcp-header': '' }), /is not the name of a header/],
    ['a name with a line break', marked({ type: 'string', 'x-mcp-header': 'A\nB' }), /is not the name of a header/],
    ['an argument that is an object', marked({ type: 'object', 'x-mcp-header': 'A' }), /not a string, integer or boolean/],
    ['an argument without a type', marked({ 'x-mcp-header': 'A' }), /not a string, integer or boolean/],
    ['items of a list', marked({ type: 'array', items: { type: 'string', 'x-mcp-header': 'A' } }), /on what is not an argument/],
    ['a definition', marked({}, { $defs: { d: { type: 'string', 'x-mcp-header': 'A' } } }), /on what is not an argument/],
    ['all arguments', marked({}, { 'x-mcp-header': 'A' }), /on what is not an argument/],
    [
      'two arguments alike',
      marked({
        type: 'object',
        properties: { a: { type: 'string', 'x-mcp-header': 'A' }, b: { type: 'string', 'x-mcp-header': 'a' } },
      }),
      /has one x-mcp-header twice/,
    ],
  ])('a tool that marks %s is left out, and named', async (_, tool, why) => {
    mirror()
    const warned: unknown[] = []
    const { warn } = console
    console.warn = (...words) => void warned.push(words)
    const { tools, absent } = await listOf(tool, good).finally(() => {
      console.warn = warn
    })
    expect(tools.map(({ name }) => name)).toEqual(['s__good'])
    expect(absent).toEqual([{ name: 's', why: expect.stringMatching(why) }])
    // What the protocol's client would write, a server could fill with anything.
    expect(warned).toEqual([])
  })

  test('a tool that marks nothing may mention the marking', async () => {
    mirror()
    const about = { type: 'string', enum: ['x-mcp-header'], default: { 'x-mcp-header': 'A' } }
    const { tools } = await listOf({ name: 'odd', inputSchema: { type: 'object', properties: { 'x-mcp-header': about } } }, good)
    expect(tools).toHaveLength(2)
  })

  test('a tool of a server of an older revision may mark what it likes', async () => {
    const { tools } = await listOf(marked({ type: 'object', 'x-mcp-header': '' }), good)
    expect(tools).toHaveLength(2)
  })
})
