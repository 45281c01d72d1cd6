import { describe, expect, test } from 'vitest'
import { hermes, parseOutput, tools } from '../../../test/support/parse-output.ts'

describe('held text', () => {
  test('is limited: a call whose name does not come becomes text', () => {
    const long = 'x'.repeat(70_000)
    const raw = `<tool_call>{"arguments": {"s": "${long}"}, "name": "f"}</tool_call>`
    for (const chunks of [[raw], raw.match(/.{1,500}/gs) ?? []]) {
      expect(parseOutput({ format: hermes, tools }, chunks)).toMatchObject({ text: raw, calls: [] })
    }
  })

  test('is not limited once the name has come', () => {
    const long = 'x'.repeat(200_000)
    const raw = `<tool_call>{"name": "f", "arguments": {"s": "${long}"}}</tool_call>`
    const { calls, events } = parseOutput({ format: hermes, tools }, raw.match(/.{1,500}/gs) ?? [])
    expect(calls).toMatchObject([{ name: 'f', arguments: `{"s": "${long}"}` }])
    expect(events.length).toBeGreaterThan(300)
  })

  test('is not limited for an argument of an open call', () => {
    const tag = ']<]minimax[>['
    const long = 'x'.repeat(70_000)
    const raw = `${tag}<tool_call>${tag}<invoke name="f">${tag}<s>${long}${tag}</s>${tag}</invoke>${tag}</tool_call>`
    const format = { toolFormat: 'minimax-m3', startsInReasoning: false }
    for (const chunks of [[raw], raw.match(/.{1,500}/gs) ?? []]) {
      expect(parseOutput({ format, tools }, chunks)).toMatchObject({ text: '', calls: [{ arguments: `{"s": "${long}"}` }] })
    }
  })

  test('does not make long answers slow', () => {
    const raw = '<tool_call>{"arguments": ['.repeat(600)
    expect(parseOutput({ format: hermes, tools }, raw.match(/.{1,7}/gs) ?? [])).toMatchObject({ text: raw })
  })

  test.each(['{"function":', '{"type":', '{"arguments":', '{"id":', '{"arguments":['])(
    'does not make long answers slow: %s nested endlessly is text',
    (begin) => {
      const raw = begin.repeat(800)
      for (const toolFormat of ['json', 'hermes']) {
        const format = { toolFormat, startsInReasoning: false }
        expect(parseOutput({ format, tools }, [raw])).toMatchObject({ text: raw, calls: [] })
      }
    },
  )
})
