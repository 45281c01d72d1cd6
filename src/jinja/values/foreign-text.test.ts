import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { codePoint } from '../../../test/support/code-point.ts'
import { compileJinja } from '../jinja-template.ts'
import { ForeignJson } from '../texts/from-json.ts'
import { asForeign, isForeign, plainText, runsOf } from './foreign-text.ts'

const words = fc
  .array(fc.constantFrom('<|a|>', '<', '|', 'Ab', 'ß', '-', '\n', ' ', '🐼', "'", '"', '\\', '｜', '▁', '.', '7', '{x}', '%s'), {
    maxLength: 10,
  })
  .map((list) => list.join(''))

/** Each reads or converts `x`, and prints nothing of its own. */
const expressions = [
  ...[
    'x',
    'x | trim',
    'x | upper',
    'x | lower',
    'x | capitalize',
    'x | title',
    'x | reverse',
    'x | list | join',
    'x[1:]',
    'x[::-1]',
  ],
  ...['x | safe', 'x | string', 'x * 2', "x.replace('<', x)", "x | replace('b', '')", "x.split('|') | join", 'x.split() | join'],
  ...["x.rsplit('|', 1) | last", "x.partition('|') | join", "x.rpartition('b') | join", "x.strip('<b')", 'x.lstrip()'],
  ...["x.removeprefix('<')", "x.removesuffix('>')", 'x.title()', 'x | first', 'x | last'],
  ...['x | center(30)', 'x.ljust(30)', 'x | indent(2)', "x | truncate(4, true, '', 0)", "'%s' % x", "'{}'.format(x)"],
  ...[
    'x.splitlines() | join',
    '[x, x] | sort | join',
    '[x, x] | unique | join',
    "x | batch(2) | map('join') | join",
    '{x: 1} | list | join',
  ],
  ...["{'a': x} | map(attribute=x) | list | join", 'x | e', '[x] | join(x)', 'x ~ x', 'x + x'],
  ...['x | default(x)', '[x, ""] | max', 'dict(a=x).a', 'namespace(a=x).a', 'x | format', 'x.format()'],
]

/** Each answers without printing `x`, or prints it as code. */
const questions = [
  ...['x.zfill(9)'],
  ...[
    "x == '<|a|>'",
    "'<|' in x",
    "x in ['<|a|>', '']",
    "x is in '<|a|>Ab'",
    "x.startswith(('<', 'A'))",
    "x.endswith('>')",
    'x is lower',
  ],
  ...["x.find('|')", "x.rindex('b') if 'b' in x", "x.count('<')", 'x | length', 'x | int(5)', 'x | float(5.5)', 'x.isalpha()'],
  ...[
    'x.isupper()',
    'x.isdigit()',
    'x.isspace()',
    'x.istitle()',
    "x < 'M'",
    "{'Ab': 1, '<': 2}[x] is defined",
    "{x: 1}['<']",
    'x | tojson',
  ],
  ...[
    'x | pprint',
    '[x]',
    '{x: x}',
    '[x] | tojson(indent=2)',
    'x | tojson(ensure_ascii=true)',
    'x is sameas x',
    'x is filter',
    "('a' | attr(x)) is defined",
  ],
  ...['x is string', 'x | e | length', "[x, 'B'] | sort", "[x, 'b'] | min", "{x: 1, 'b': 2} | dictsort"],
]

const attempt = (source: string, x: string): string => {
  try {
    return compileJinja(`{{ ${source} }}`).render({ x })
  } catch (error) {
    return `failed: ${(error as Error).message}`
  }
}

describe('foreign text', () => {
  test('foreign text has partners that differ from valid text, and back', () => {
    fc.assert(
      fc.property(fc.string({ unit: codePoint }), (text) => {
        expect(isForeign(text)).toBe(false)
        expect(plainText(asForeign(text))).toBe(text)
        expect(runsOf(asForeign(text)).join('')).toBe(asForeign(text))
      }),
    )
  })

  test('half surrogate pairs of a caller cannot pose as partners', () => {
    expect(plainText(asForeign('a\udc3cb\ud800'))).toBe('a\ufffdb\ufffd')
    expect(isForeign(compileJinja("{{ '\\udc3c' }}\udc3c").render({}))).toBe(false)
  })

  test.each([...expressions, ...questions])('foreign text reads like any other: %s', (source) => {
    fc.assert(
      fc.property(words, (x) => {
        expect(plainText(attempt(source, asForeign(x)))).toBe(attempt(source, x))
      }),
      { numRuns: 10 },
    )
  })

  test.each(expressions)('foreign text stays foreign: %s', (source) => {
    fc.assert(
      fc.property(words, (x) => {
        const printed = attempt(source, asForeign(x))
        if (!printed.startsWith('failed: ')) expect(printed).not.toMatch(/[!-~]/)
      }),
      { numRuns: 10 },
    )
  })

  test('JSON of a caller keeps its digits and the order of its keys, and is foreign', () => {
    const json = '{"b": 1234567890123456789, "10": 1.0, "9": [1.50, 1e5, -0, 12], "\\u003c|a|>": "\\u003c|a|>"}'
    const text = compileJinja('{{ x | tojson }}{{ x["10"] }}{{ x["9"][3] * 2 }}').render({
      x: new ForeignJson(json),
    })
    expect(plainText(text)).toBe('{"b": 1234567890123456789, "10": 1.0, "9": [1.50, 1e5, -0, 12], "<|a|>": "<|a|>"}1.024')
    expect(text).not.toContain('<|')
    const nested = fc.json({ maxDepth: 4 })
    fc.assert(
      fc.property(nested, (given) => {
        const printed = plainText(compileJinja('{{ x | tojson }}').render({ x: new ForeignJson(given) }))
        expect(JSON.parse(printed)).toEqual(JSON.parse(given))
      }),
    )
  })
})
