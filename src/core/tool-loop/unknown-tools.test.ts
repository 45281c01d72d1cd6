import { describe, expect, test } from 'vitest'
import { call, calls, found, linesOf, messagesOf, says, search, start, toolsOf, writes } from './__fixtures__/scripted-turns.ts'

const hermes = (name: string) => `<tool_call>\n{"name": "${name}", "arguments": {}}\n</tool_call>`
const texts = (events: Parameters<typeof linesOf>[0]) => linesOf(events).filter((line) => line.startsWith('text '))

describe('a call of a tool that is not there', () => {
  test.each([
    ['hermes', hermes('rm')],
    ['json', '[{"name": "rm", "arguments": {}}]'],
    ['llama3', '{"name": "rm", "parameters": {}}'],
    ['mistral', '[TOOL_CALLS] [{"name": "rm", "arguments": {}}]'],
    ['harmony', '<|channel|>commentary to=functions.rm <|constrain|>json<|message|>{}<|call|>'],
    ['glm', '<tool_call>rm\n<arg_key>a</arg_key>\n<arg_value>b</arg_value>\n</tool_call>'],
    ['any', '<|python_tag|>{"name": "rm", "parameters": {}}'],
  ])('a call of a missing tool is a text for the model in %s, without an answer', async (toolFormat, raw) => {
    const { run, events, requests, records } = start({ turns: [writes(raw), says('Sorry.')], toolFormat })
    await run()
    expect(linesOf(events)).toEqual(['text Sorry.', 'finish stop'])
    expect(messagesOf(requests[1]).at(-1)).toContain("There is no tool 'rm'.\n\nThe tools are: web_search.")
    expect(records).toMatchObject([{ tool: 'rm', outcome: 'unknown' }])
  })

  test('such a call does not keep a good call beside it from being made, and the model learns of both', async () => {
    const turn = writes(`${hermes('rm')}\n${hermes('web_search')}`)
    const { run, events, requests } = start({ turns: [turn, says('In France.')], toolFormat: 'hermes' })
    await run()
    expect(linesOf(events).map((line) => line.replace(/call_\w+/, 'ID'))).toEqual([
      'start ID web_search {}',
      `end ID ${found.text}`,
      'text In France.',
      'finish stop',
    ])
    const [unknown, made] = messagesOf(requests[1]).slice(-2)
    expect(unknown).toContain("There is no tool 'rm'.")
    expect(made).toContain(found.text)
  })

  test('such a call takes a turn, and one that the model repeats again and again ends the calls', async () => {
    const { run, requests, events } = start({ turns: [...Array(5).fill(calls(...call('rm', {}))), says('Well.')] })
    await run()
    expect(requests.map((request) => toolsOf(request).length)).toEqual([1, 1, 1, 1, 1, 0])
    expect(linesOf(events)).toEqual(['text Well.', 'finish stop'])
  })

  test('the call is named to a model that has no tools at all, in words that make sense', async () => {
    const box = { list: async () => ({ tools: [], absent: [] }), close: async () => undefined, namesFor: () => undefined }
    const { run, requests } = start({ turns: [calls(...call('rm', {})), says('.')], box, use: { names: [] } })
    await run()
    expect(messagesOf(requests[1]).at(-1)).toContain("There is no tool 'rm'.\n\nAnswer without tools.")
  })
})

describe('a call in the last turn', () => {
  test.each([
    ['of a tool of the turns before', hermes('web_search')],
    ['of a tool that was never there', hermes('rm')],
  ])('%s is left out of the answer', async (_, raw) => {
    const turns = [search({}), writes(`In France.${raw}`)]
    const { run, events, requests } = start({ turns, toolFormat: 'hermes', use: { maxTurns: 1 } })
    await run()
    expect(toolsOf(requests[1])).toEqual([])
    expect(texts(events)).toEqual(['text In France.'])
    expect(linesOf(events).at(-1)).toBe('finish stop')
  })

  test.each([
    ['also where only the name of a tool begins it', 'glm4', 'web_search\n{"query": "Paris"}', 1],
    ['where no turn may call', 'hermes', hermes('web_search'), 0],
  ])(
    'a call in the last turn that says nothing else is left out, and the model is asked once more, %s',
    async (_, toolFormat, raw, maxTurns) => {
      const before = maxTurns === 0 ? [] : [search({})]
      for (const [said, expected] of [
        [says('In France.'), ['text In France.']],
        [writes(raw), []],
      ] as const) {
        const { run, events, requests } = start({ turns: [...before, writes(raw), said], toolFormat, use: { maxTurns } })
        await run()
        expect(texts(events)).toEqual(expected)
        expect(linesOf(events).at(-1)).toBe('finish stop')
        expect(messagesOf(requests.at(-1)).at(-2)).toContain('The call was not made: there are no more calls.')
      }
    },
  )
})
