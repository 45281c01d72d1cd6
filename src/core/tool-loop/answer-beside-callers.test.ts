import { describe, expect, test } from 'vitest'
import { AppError } from '../../contract/errors.ts'
import type { ToolBox, ToolOutcome, ToolRun } from '../../contract/server-tool.ts'
import { call, calls, linesOf, messagesOf, says, search, start, toolsOf } from './__fixtures__/scripted-turns.ts'

describe('tools of the caller beside those of the server', () => {
  const declared = [{ name: 'mine' }]

  test("the caller's tools are offered too, and a call of one ends the turn", async () => {
    const { run, events, requests, records } = start({ turns: [calls(...call('mine', { a: 1 }))], declared })
    await run()
    expect(toolsOf(requests[0])).toEqual(['mine', 'web_search'])
    expect(linesOf(events)).toEqual(['tool-call-start', 'tool-call-delta', 'tool-call-end', 'finish tool-calls'])
    expect(records).toEqual([])
  })

  test('in one turn with calls of the server, these are made before the caller’s end the reply', async () => {
    const turn = calls(...call('web_search', {}), ...call('mine', {}), ...call('rm', {}))
    const { run, events, records } = start({ turns: [turn], declared })
    await run()
    expect(linesOf(events)).toEqual([
      ...['tool-call-start', 'tool-call-delta', 'tool-call-end'],
      ...['start web_search-1 web_search {}', 'end web_search-1 Paris is in France.', 'finish tool-calls'],
    ])
    expect(records.map(({ tool, outcome }) => `${tool} ${outcome}`)).toEqual(['web_search ok', 'rm unknown'])
  })

  test('in one turn with calls whose results no later request would have, are the only ones that are made', async () => {
    const turn = calls(...call('web_search', {}), ...call('mine', {}))
    const { run, events, records } = start({ turns: [turn], declared, use: { hidesCalls: true } })
    await run()
    expect(linesOf(events)).toEqual(['tool-call-start', 'tool-call-delta', 'tool-call-end', 'finish tool-calls'])
    expect(records).toEqual([])
  })

  test('in one turn with a call that waits for the next request, that one is asked about', async () => {
    const turn = calls(...call('mine', {}), ...call('web_search', {}))
    const tools = { web_search: { needsApproval: true as const } }
    const { run, events } = start({ turns: [turn], declared, tools, use: { asks: 'by-ending' } })
    await run()
    expect(linesOf(events).slice(3)).toEqual(['approval web_search-1', 'finish tool-calls'])
  })

  test("the caller's tools that the choice leaves out are not there", async () => {
    const asked = { toolChoice: { type: 'auto', names: ['web_search'] } } as const
    const turns = [calls(...call('mine', {})), says('No.')]
    const { run, events, requests } = start({ turns, declared, asked })
    await run()
    expect(linesOf(events)).toEqual(['text No.', 'finish stop'])
    expect(messagesOf(requests[1]).at(-1)).toContain("There is no tool 'mine'.\n\nThe tools are: web_search.")
  })

  test('after calls of the server, the caller’s get through', async () => {
    const { run, events } = start({ turns: [search({}), calls(...call('mine', {}))], declared })
    await run()
    expect(linesOf(events).map((line) => line.split(' ')[0])).toEqual([
      'start',
      'end',
      'tool-call-start',
      'tool-call-delta',
      'tool-call-end',
      'finish',
    ])
  })

  test("the caller's tools with the name of one of the server are refused", async () => {
    const { run } = start({ turns: [], declared: [{ name: 'web_search' }] })
    await expect(run()).rejects.toMatchObject({ code: 'invalid-request', at: ['prompt', 'tools', 0] })
  })

  test("the caller's tools stay when the budget is used up", async () => {
    const { run, requests } = start({ turns: [search({}), says('.')], declared, use: { maxTurns: 1 } })
    await run()
    expect(requests.map(toolsOf)).toEqual([['mine', 'web_search'], ['mine']])
  })
})

describe('a cancelled reply', () => {
  const requested = new AppError('cancelled', 'the request was cancelled', { keepsOutput: 'cancelled' })
  const gone = new AppError('cancelled', 'the client left')

  test('while a tool runs ends with what there was, and nothing more starts', async () => {
    const controller = new AbortController()
    const tools = {
      web_search: ({ signal }: ToolRun) =>
        new Promise<ToolOutcome>((resolve) => {
          signal.addEventListener('abort', () => resolve({ text: 'ended', isError: true }))
          controller.abort(requested)
        }),
    }
    const turn = calls(...call('web_search', { query: 'a' }, 'c1'), ...call('web_search', { query: 'b' }, 'c2'))
    const { run, events, requests, records } = start({ turns: [turn], tools, context: { signal: controller.signal } })
    await run()
    expect(linesOf(events)).toEqual(['start c1 web_search {"query":"a"}', 'end c1 The call was cancelled.', 'finish cancelled'])
    expect(events.at(-1)).toMatchObject({ type: 'usage', usage: { outputTokens: 1 } })
    expect(requests).toHaveLength(1)
    expect(records).toMatchObject([{ outcome: 'cancelled' }])
  })

  test('a cancelled reply whose tool ignores its signal ends nevertheless', async () => {
    const controller = new AbortController()
    const tools = {
      web_search: () => {
        controller.abort(requested)
        return new Promise<never>(() => undefined)
      },
    }
    const { run, events } = start({ turns: [search({})], tools, context: { signal: controller.signal } })
    await run()
    expect(linesOf(events).at(-1)).toBe('finish cancelled')
  })

  test('a cancelled reply whose client has left fails with that', async () => {
    const controller = new AbortController()
    const tools = {
      web_search: () => {
        controller.abort(gone)
        return new Promise<never>(() => undefined)
      },
    }
    const { run, events } = start({ turns: [search({})], tools, context: { signal: controller.signal } })
    await run()
    expect(events.at(-1)).toMatchObject({ type: 'error', error: { message: 'the client left' } })
  })

  test('a cancelled reply while the servers of tools are asked begins and ends', async () => {
    const controller = new AbortController()
    const box: ToolBox = {
      list: () => {
        controller.abort(requested)
        return new Promise(() => undefined)
      },
      close: async () => undefined,
      namesFor: () => undefined,
    }
    const { run, events } = start({ turns: [], box, context: { signal: controller.signal } })
    await run()
    expect(events.map(({ type }) => type)).toEqual(['start', 'finish', 'usage'])
  })

  test('a cancelled reply in a later turn of the model keeps what was said', async () => {
    const controller = new AbortController()
    const stuck = (signal: AbortSignal) =>
      new Promise<never>((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason))
        controller.abort(requested)
      })
    const { run, events } = start({ turns: [search({}), stuck], context: { signal: controller.signal } })
    await run()
    expect(linesOf(events).map((line) => line.split(' ')[0])).toEqual(['start', 'end', 'finish'])
    expect(linesOf(events).at(-1)).toBe('finish cancelled')
  })

  test('a cancelled reply waits for no reader', async () => {
    const controller = new AbortController()
    const tools = {
      web_search: () => {
        controller.abort(requested)
        return new Promise<never>(() => undefined)
      },
    }
    const { generation } = start({ turns: [search({})], tools, context: { signal: controller.signal } })
    const types: string[] = []
    await generation.run((event) => {
      types.push(event.type)
      return event.type === 'server-tool-end' || event.type === 'finish' ? new Promise(() => undefined) : undefined
    })
    expect(types.slice(-3)).toEqual(['server-tool-end', 'finish', 'usage'])
  })
})
