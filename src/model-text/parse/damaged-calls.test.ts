import { describe, expect, test } from 'vitest'
import { parseOutput } from '../../../test/support/parse-output.ts'
import { findToolFormat } from '../formats/tool-formats.ts'
import { differingCut } from './__fixtures__/cuts.ts'
import { families } from './__fixtures__/families.ts'
import { type Arguments, type Family, json, tools } from './__fixtures__/output-case.ts'
import { answerOf } from './__fixtures__/scenarios.ts'

const value = 'PLACEHOLDER'
const callOf = (family: Family, name: string, values: Arguments) => answerOf(family, { calls: [{ name, arguments: values }] })

/** What models do to a call of `search`; undefined where the format has nothing to damage. */
const damages: Readonly<Record<string, (raw: string, family: Family) => string | undefined>> = {
  'ends behind the name': (raw) => /^.*search(?:"?>|"(?=[:,])|<\|sep\|>|(?=[\n:<[(]))/s.exec(raw)?.[0],
  'ends in its value': (raw) => raw.slice(0, raw.indexOf(value) + value.length),
  'has doubled brackets': (raw) => raw.replace(/\{(.*)\}/s, '{{$1}}'),
  'has doubled brackets around its arguments': (raw) => raw.replace(json({ query: value }), `{${json({ query: value })}}`),
  'has spaces around signs': (raw) => raw.replaceAll('=', ' = '),
  'has a parameter twice': (raw) => raw.replace(/(\w+[=:] ?)(["']?)PLACEHOLDER\2/, '$1$2a$2, $1$2b$2'),
  'has more values than parameters': (raw) => raw.replace(/query=('PLACEHOLDER')/, '$1, 2, 3'),
  'ends with its opening tag': (raw, { format }) => {
    const found = findToolFormat(format)
    const open = found?.triggers(tools).find(({ tag, keep }) => keep !== true && raw.startsWith(tag))?.tag
    const close = found?.visibleTokens.find((token) => raw.endsWith(token))
    if (open === undefined || close === undefined) return undefined
    const call = raw.slice(0, -close.length)
    // MiniMax M3's closing tag is two tokens.
    return call.slice(0, call.endsWith(']<]minimax[>[') ? -13 : undefined) + open
  },
}

/** What a call may be: with an object in JSON or, where JSON ends in a string, with what the model wrote. */
function isAllowed({ arguments: text, state }: { arguments: string; state?: string | undefined }): boolean {
  if (state === 'unparseable') return /^\{.*"PLACEHOLDER$/s.test(text)
  return JSON.parse(text) !== null && text.startsWith('{')
}

describe.each(families)('a call as $format writes it', (family) => {
  const { format: toolFormat, reasoning } = family
  // What Glimmer writes in a message to a tool is not divided further.
  const tokens = findToolFormat(toolFormat)?.visibleTokens.filter((token) => !token.includes('atem:')) ?? []
  const format = { toolFormat, startsInReasoning: false, ...(reasoning !== undefined && { reasoning }) }
  const raw = callOf(family, 'search', { query: value })

  test.each(Object.keys(damages))('that %s is a call with an object, or text without tokens', (name) => {
    const damaged = damages[name]?.(raw, family)
    if (damaged === undefined || damaged === raw) return
    const read = (pieces: readonly string[]) => {
      const { text, calls } = parseOutput({ format, tools }, pieces)
      return { text, calls }
    }
    const { text, calls } = read([damaged])
    expect(calls.filter((call) => !isAllowed(call))).toEqual([])
    expect(tokens.filter((token) => text.includes(token))).toEqual([])
    expect(calls.length > 0 || text !== '').toBe(true)
    expect(differingCut(damaged, (pieces) => JSON.stringify(read(pieces)))).toBeUndefined()
  })
})
