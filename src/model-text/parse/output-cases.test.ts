import { describe, expect, test } from 'vitest'
import { type ParsedOutput, parseOutput } from '../../../test/support/parse-output.ts'
import { toolFormatNames } from '../formats/format-names.ts'
import { findToolFormat } from '../formats/tool-formats.ts'
import { differingCut } from './__fixtures__/cuts.ts'
import { families } from './__fixtures__/families.ts'
import { compactJson, type Family, json, type OutputCase, tools } from './__fixtures__/output-case.ts'
import { answerOf, casesOf } from './__fixtures__/scenarios.ts'

const think = { open: '<think>\n', close: '\n</think>\n\n' }

/** What a family's parser makes of a text in these pieces. */
function read(family: Family, { startsInReasoning = false, truncated = false }: Partial<OutputCase>, pieces: readonly string[]) {
  const format = { toolFormat: family.format, reasoning: family.reasoning ?? think, startsInReasoning }
  return parseOutput({ format, tools }, pieces, truncated ? 'length' : 'stop')
}

function compact(text: string): string {
  return isJson(text) ? compactJson(text) : text
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** What is read, in one text; ids only if `withIds`. */
function summary({ text, reasoning, calls }: Omit<ParsedOutput, 'events'>, withIds: boolean): string {
  const read = calls.map(({ id, name, arguments: json, state }) => [name, compact(json), state ?? 'ok', ...(withIds ? [id] : [])])
  return JSON.stringify({ text, reasoning, calls: read })
}

function wantedOf({ text = '', reasoning = '', calls = [] }: OutputCase): string {
  const wanted = calls.map(({ name, arguments: json, state = 'ok' }) => [name, compact(json), state])
  return JSON.stringify({ text, reasoning, calls: wanted })
}

/** What is wrong with the reading of a case, whole and cut; undefined when nothing is. */
function fault(family: Family, each: OutputCase): object | undefined {
  const { name, raw, calls = [] } = each
  const whole = read(family, each, [raw])
  const [got, want] = [summary(whole, false), wantedOf(each)]
  if (got !== want) return { name, raw, got, want }
  const wrongId = calls.findIndex(({ id }, index) => id !== undefined && whole.calls[index]?.id !== id)
  if (wrongId !== -1) return { name, raw, got: whole.calls[wrongId]?.id, want: calls[wrongId]?.id }
  // A pair of surrogates that is cut is escaped, so that the same string may have two spellings.
  const joined = JSON.stringify({ ...whole, events: [] })
  const differing = differingCut(raw, (pieces) => {
    const cut = read(family, each, pieces)
    const isSame = JSON.stringify({ ...cut, events: [] }) === joined || summary(cut, true) === summary(whole, true)
    return isSame ? joined : summary(cut, true)
  })
  return differing && { name, differing }
}

describe.each(families)('answers as $format', (family) => {
  const cases = casesOf(family)

  test('are read as they are meant, cut anywhere', () => {
    expect(cases.map((each) => fault(family, each)).filter((found) => found !== undefined)).toEqual([])
  })

  test('are text, as they are, where no tool may be called', () => {
    const raw = answerOf(family, { calls: [{ name: 'get_weather', arguments: { city: 'Oslo' } }] })
    const format = { toolFormat: family.format, startsInReasoning: false }
    const { text, calls } = parseOutput({ format, tools, toolChoice: { type: 'none' } }, [raw])
    const isInMessages = findToolFormat(family.format)?.messages !== undefined
    expect(calls).toEqual([])
    // Tags that end the message of an answer are none of it.
    expect(isInMessages || raw.startsWith(text)).toBe(true)
    expect(text).toContain('Oslo')
  })

  test('have at least ten cases', () => {
    expect(cases.length).toBeGreaterThanOrEqual(10)
  })

  test('truncated at any place, never look like another call, and leave no text', () => {
    const call = { name: 'get_weather', arguments: { city: 'Köln "am Rhein"', days: 3, tags: ['a', 'b'] } }
    const raw = answerOf(family, { calls: [call] })
    const complete = read(family, {}, [raw]).calls[0]?.arguments ?? ''
    expect(compact(complete)).toBe(compact(json(call.arguments)))
    const wrong = Array.from({ length: raw.length }, (_, length) => raw.slice(0, length)).filter((begun) => {
      const { text, calls } = read(family, { truncated: true }, [begun])
      const [first, second] = calls
      const isOther = first !== undefined && isJson(first.arguments) && compact(first.arguments) !== compact(complete)
      return second !== undefined || isOther || (first !== undefined && text !== '')
    })
    expect(wrong.map((begun) => [begun, summary(read(family, { truncated: true }, [begun]), false)])).toEqual([])
  })
})

test('every format has a family', () => {
  expect(families.map(({ format }) => format).sort()).toEqual([...toolFormatNames].sort())
})
