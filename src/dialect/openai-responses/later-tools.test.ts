import { describe, expect, test } from 'vitest'
import { assistant, call, text } from '../../../test/support/parts.ts'
import { decode, failureOf, messagesOf, promptOf, stored } from './__fixtures__/decode.ts'
import { called, checked, encoderFor, finished, start } from './__fixtures__/encode.ts'

const hi = { role: 'user', content: 'hi' }
const f = { type: 'function', name: 'f', parameters: { type: 'object' } }
const docs = { type: 'namespace', name: 'mcp__docs__', description: 'Documents.', tools: [{ ...f, name: 'read' }] }

describe('tools in the input', () => {
  const more = { type: 'additional_tools', role: 'developer', tools: [f, docs, { type: 'web_search' }] }

  test('are declared like those of the request, and are no message', () => {
    const decoded = decode({ input: [more, hi] })
    expect(promptOf(decoded).tools).toMatchObject([{ name: 'f' }, { name: 'mcp__docs__read', description: 'Documents.' }])
    expect(promptOf(decoded).messages).toEqual([{ role: 'user', content: [text('hi')] }])
    expect(decoded.ignored).toEqual(['input[0].tools[2].web_search'])
    expect(decoded.input()[0]?.json).toMatchObject(more)
  })

  test('may repeat what is declared, can be chosen, and have names in errors', () => {
    const decoded = decode({ tools: [f], input: [more, more, hi], tool_choice: { type: 'function', name: 'f' } })
    expect(promptOf(decoded).tools.map(({ name }) => name)).toEqual(['f', 'mcp__docs__read'])
    expect(decoded.request.toolChoice).toEqual({ type: 'required', names: ['f'] })
    expect(decoded.nameOf(['prompt', 'tools', 1, 'parameters'])).toBe('input[0].tools[1].tools[0].parameters')
  })

  test('stay when turns go, and come from a history too', () => {
    const history = [stored({ id: 'at_1', ...more })]
    expect(promptOf(decode({ input: 'go on' }, { history })).tools).toHaveLength(2)
    expect(decode({ input: 'go on' }, { history }).ignored).toEqual([])
    const shorter = decode({ input: [more, hi, hi] }).withoutOldest(1)
    expect(shorter?.dropped).toEqual(['input[1]'])
  })

  test.each([[{ tools: [{ type: 'function' }] }, 'input[0].tools[0].name']])('%j are refused by name', (fields, param) => {
    expect(failureOf({ input: [{ ...more, ...fields }] }).param).toBe(param)
  })
})

describe('a search for tools that the client runs', () => {
  const search = { type: 'tool_search', execution: 'client', description: 'Finds tools.', parameters: { type: 'object' } }
  const searched = { type: 'tool_search_call', call_id: 's1', execution: 'client', arguments: { query: 'docs' } }
  const found = { type: 'tool_search_output', call_id: 's1', execution: 'client', tools: [docs] }

  test('is a function for the model', () => {
    const { description, parameters } = search
    expect(promptOf(decode({ tools: [search] })).tools).toEqual([{ name: 'tool_search', description, parameters }])
  })

  test('has calls of its own kind', () => {
    const encoder = encoderFor({ tools: [search] })
    const generated = [start, ...called('s1', 'tool_search', '{"query":"docs"}'), ...finished('tool-calls')]
    const events = checked(generated.flatMap((event) => encoder.encode(event)))
    expect(events.map(({ type }) => type)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.output_item.done',
      'response.completed',
    ])
    expect(encoder.output).toMatchObject([
      { id: expect.stringMatching(/^tsc_[0-9a-f]{32}$/), json: { ...searched, status: 'completed' } },
    ])
  })

  test('describes what it found where it found it: the list at the beginning stays', () => {
    const fields = { tools: [search], input: [hi, searched, found] }
    const description =
      '<function>{"description":"Documents.","name":"mcp__docs__read","parameters":{"type":"object"}}</function>'
    expect(messagesOf(fields).slice(1)).toEqual([
      assistant(call('s1', 'tool_search', '{"query":"docs"}')),
      { role: 'tool', toolCallId: 's1', content: [text(description)] },
    ])
    const [, tool] = promptOf(decode(fields)).tools
    expect(tool).toMatchObject({ name: 'mcp__docs__read', isDeferred: true })
  })

  test('says when it found nothing', () => {
    const input = [searched, { ...found, tools: [] }]
    expect(messagesOf({ input }).at(-1)).toMatchObject({ role: 'tool', content: [text('No tools were found.')] })
  })

  test('goes together with its result', () => {
    const shorter = decode({ input: [hi, searched, found, hi] }).withoutOldest(2)
    expect(shorter?.dropped).toEqual(['input[0]', 'input[1]', 'input[2]'])
  })

  test.each([[searched], [found]])('%j of a search on OpenAI’s servers is listed', (item) => {
    expect(decode({ input: [hi, { ...item, call_id: null, execution: 'server' }] }).ignored).toContain('input[1]')
    expect(decode({ tools: [{ type: 'tool_search' }, f] }).ignored).toEqual(['tools[0].tool_search'])
  })
})
