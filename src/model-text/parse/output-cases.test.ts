import { describe, expect, test } from 'vitest'
import { type ParsedOutput, parseOutput } from '../../../test/support/parse-output.ts'
import { toolFormatNames } from '../formats/format-names.ts'
import { differingCut } from './__fixtures__/cuts.ts'
import { families } from './__fixtures__/families.ts'
import { compactJson, type Family, json, type OutputCase, tools } from './__fixtures__/output-case.ts'
import { answerOf, casesOf } from './__fixtures__/scenarios.ts'

const think = { open: '<think>\n', close: '\n</think>\n\n' }

/** Cases whose rule the parsers do not follow yet. */
const pending: readonly { readonly cases: RegExp; readonly reason: string }[] = [
  { cases: /: (code span|fence)$/, reason: 'quoted calls are to be text' },
  { cases: /: call in open reasoning$/, reason: 'the tag of a call is to end reasoning' },
  { cases: /^truncated/, reason: 'a truncated call is to stay as it was' },
  { cases: /^seed-oss: text that ends with line/, reason: 'values are to keep their last line break' },
  { cases: /^minicpm: (every kind|text (with|that ends with) line|a text with)/, reason: 'CDATA is to be unwrapped' },
]

function skipPending(name: string, skip: (note: string) => void): void {
  const found = pending.find(({ cases }) => cases.test(name))
  if (found !== undefined) skip(`pending: ${found.reason}`)
}

/** What a family's parser makes of a text in these pieces. */
function read(family: Family, { startsInReasoning = false, truncated = false }: Partial<OutputCase>, pieces: readonly string[]) {
  const format = { toolFormat: family.format, reasoning: family.reasoning ?? think, startsInReasoning }
  return parseOutput({ format, tools }, pieces, truncated ? 'length' : 'stop')
}

function summary({ text, reasoning, calls }: Omit<ParsedOutput, 'events'>) {
  return { text, reasoning, calls: calls.map((call) => ({ name: call.name, arguments: compact(call.arguments) })) }
}

function result(output: ParsedOutput): string {
  return JSON.stringify([summary(output), output.calls.map(({ id }) => id)])
}

function compact(text: string): string {
  try {
    JSON.parse(text)
    return compactJson(text)
  } catch {
    return text
  }
}

describe.each(families)('answers as $format', (family) => {
  test.for(casesOf(family))('$name', (wanted, { skip }) => {
    skipPending(wanted.name, skip)
    const { text = '', reasoning = '', calls = [] } = wanted
    const whole = read(family, wanted, [wanted.raw])
    expect(summary(whole)).toEqual({
      text,
      reasoning,
      calls: calls.map((call) => ({ name: call.name, arguments: compact(call.arguments) })),
    })
    for (const [index, { id }] of calls.entries()) if (id !== undefined) expect(whole.calls[index]?.id).toBe(id)
    expect(differingCut(wanted.raw, (pieces) => result(read(family, wanted, pieces)))).toEqual(undefined)
  })

  test('truncated at any place, it is text or the beginning of the call', ({ skip }) => {
    skipPending('truncated', skip)
    const call = { name: 'get_weather', arguments: { city: 'Köln "am Rhein"', days: 3, tags: ['a', 'b'] } }
    const raw = answerOf(family, { calls: [call] })
    const complete = read(family, {}, [raw]).calls[0]?.arguments ?? ''
    expect(compact(complete)).toBe(compact(json(call.arguments)))
    const wrong = Array.from({ length: raw.length }, (_, length) => raw.slice(0, length)).filter((begun) => {
      const { text, calls } = read(family, { truncated: true }, [begun])
      return calls.length > 1 || (calls.length === 1 && (text !== '' || !complete.startsWith(calls[0]?.arguments ?? '')))
    })
    expect(wrong.map((begun) => [begun, result(read(family, { truncated: true }, [begun]))])[0]).toEqual(undefined)
  })
})

test('every format has at least ten cases', () => {
  const few = toolFormatNames.filter((name) => {
    const family = families.find(({ format }) => format === name)
    return family === undefined || casesOf(family).length < 10
  })
  expect(few).toEqual([])
})
