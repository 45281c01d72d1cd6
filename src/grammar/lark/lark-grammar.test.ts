import { describe, expect, test } from 'vitest'
import { createMatcher } from '../../../test/support/llama/gbnf-matcher.ts'
import { createGbnfMatcher } from '../run/gbnf-matcher.ts'
import { commonTerminals } from './lark-common.ts'
import { larkToGbnf } from './lark-grammar.ts'

/** What a grammar says to each text, by two interpreters of GBNF. */
function accepts(lark: string, text: string): boolean {
  const gbnf = larkToGbnf(lark)
  const accepted = createMatcher(gbnf).matches(text)
  expect(createGbnfMatcher(gbnf)(text)).toBe(accepted)
  return accepted
}

describe('a grammar in the language of Lark', () => {
  test.each<[what: string, lark: string, allowed: readonly string[], others: readonly string[]]>([
    ['a text', 'start: "a b"', ['a b'], ['ab', 'A b', '']],
    ['a text in either case', 'start: "aé1"i', ['aé1', 'AÉ1', 'aÉ1'], ['b']],
    ['escapes', String.raw`start: "\"\\\n\t\x41\u00e9\U0001F600"`, ['"\\\n\tAé😀'], ['']],
    ['a regular expression', String.raw`start: /a\/[b-d]+/`, ['a/bcd'], ['a/', 'a/e']],
    ['flags', 'start: /[^a]x./is', ['bX\n', 'bxq'], ['Ax.', 'ax.']],
    ['a dot, which is anything but a line feed', 'start: /.*/', ['', 'a\r\u2028'], ['a\n']],
    ['a range of characters', 'start: "a".."c"', ['a', 'c'], ['d', 'ab']],
    ['rules and terminals', 'start: a B\na: "a"\nB: "b" C\nC: "c"', ['abc'], ['ab', 'a b c']],
    ['alternatives', 'start: "a" | "b" "c"', ['a', 'bc'], ['ac', 'b']],
    ['alternatives on lines of their own', 'start: "a" // first | second\n  | "b"\n\n  # last\n  | "c"', ['a', 'b', 'c'], ['']],
    ['an empty alternative', 'start: "a" b\nb: | "b"', ['a', 'ab'], ['']],
    ['groups', 'start: ("a" | "b") "c"', ['ac', 'bc'], ['a', 'c']],
    ['groups over several lines', 'start: (\n  "a" // one\n  | "b"\n) "c"', ['ac', 'bc'], ['a']],
    ['optional parts', 'start: ["a"] "b" "c"?', ['abc', 'b'], ['ac']],
    ['repetitions', 'start: "a"* "b"+', ['b', 'aab', 'bb'], ['a', '']],
    ['counted repetitions', 'start: "a"~2 "b" ~ 1..3', ['aab', 'aabbb'], ['ab', 'aa', 'aabbbb']],
    ['a large count', 'start: "ab"~2000', ['ab'.repeat(2000)], ['ab'.repeat(1999)]],
    ['modifiers, priorities and names of branches', '?start: a -> x | B -> y\n!a.2: "a"\nB.-1: "b"', ['a', 'b'], ['x']],
    ['names with underscores', 'start: _a _B\n_a: "a"\n_B: "b"', ['ab'], ['a']],
    ['recursion', 'start: "(" start ")" | "x"', ['x', '((x))'], ['(x', '']],
    ['imports', 'start: INT\n%import common.INT', ['12'], ['', 'a']],
    ['imports under another name', 'start: N _L\n%import common.INT -> N\n%import common.LF -> _L', ['1\n'], ['1']],
    ['imports of several', 'start: INT WORD\n%import common (INT, WORD)', ['1a'], ['a1']],
    ['Windows line ends', 'start: a\r\na: "a"\r\n', ['a'], ['']],
  ])('a Lark grammar may have %s', (_, lark, allowed, others) => {
    expect(allowed.filter((text) => !accepts(lark, text))).toEqual([])
    expect(others.filter((text) => accepts(lark, text))).toEqual([])
  })

  test('a Lark grammar allows what is ignored before, between and after terminals, and not inside', () => {
    const lark = 'start: a+ B\na: "x" "y"\nB: "b" "c"\nCOMMENT: /#[^\\n]*/\n%import common.WS\n%ignore WS\n%ignore COMMENT'
    for (const text of ['xybc', ' x y\nx#c\ny bc # end', 'xyxybc']) expect(accepts(lark, text)).toBe(true)
    for (const text of ['xyb c', 'x', 'xy#']) expect(accepts(lark, text)).toBe(false)
  })

  test('a Lark grammar is read without a lexer, which would take the longest terminal', () => {
    expect(accepts('start: LETTERS "b"\nLETTERS: /[a-z]+/', 'ab')).toBe(true)
  })

  test("a Lark grammar may be the one of Codex's patches", () => {
    const lark = [
      'start: head section+ tail',
      'head: "== patch ==" LF',
      'tail: "== end ==" LF?',
      'section: create | remove | change',
      'create: "create " path LF added+',
      'remove: "remove " path LF',
      'change: "change " path LF moved? part?',
      'path: /(.+)/',
      'added: ">" /(.*)/ LF -> line',
      'moved: "to " path LF',
      'part: (mark | edited)+ last?',
      'mark: ("@" | "@ " /(.+)/) LF',
      'edited: (">" | "<" | " ") /(.*)/ LF',
      'last: "end of file" LF',
      '%import common.LF',
    ].join('\n')
    const patch = '== patch ==\ncreate a b\n>one\n>\nchange c\nto d\n@ f(x)\n same\n<old "x"\n>new é\r\nremove e\n== end ==\n'
    expect(accepts(lark, patch)).toBe(true)
    expect(accepts(lark, patch.trimEnd())).toBe(true)
    expect(accepts(lark, patch.replace('>one', 'one'))).toBe(false)
    expect(accepts(lark, patch.replace('create a b', 'create '))).toBe(false)
    expect(accepts(lark, '== patch ==\n== end ==\n')).toBe(false)
  })

  test.each([...commonTerminals.keys()])('a Lark grammar may import %s', (name) => {
    expect(larkToGbnf(`start: ${name}\n%import common.${name}`)).toContain('root ::= ')
  })

  test.each([
    ['NUMBER', ['1', '1.5', '.5', '1.', '2e-3'], ['', '.', '-1']],
    ['SIGNED_FLOAT', ['-1.5', '+2e3'], ['1', '']],
    ['ESCAPED_STRING', ['""', '"a\\"b"', '"\\\\"'], ['"', '"a"b"', '"\\"', '"\n"']],
    ['C_COMMENT', ['/**/', '/* a * b\n **/'], ['/*/', '/* */ */']],
    ['NEWLINE', ['\n', '\r\n\n'], ['\r', '']],
    ['CNAME', ['_a1'], ['1a']],
  ])('a Lark grammar knows %s as Lark does', (name, allowed, others) => {
    const lark = `start: ${name}\n%import common.${name}`
    expect(allowed.filter((text) => !accepts(lark, text))).toEqual([])
    expect(others.filter((text) => accepts(lark, text))).toEqual([])
  })

  test.each<[string, string]>([
    ['start: x', "line 1: 'x' is not defined"],
    ['a: "a"', "no rule 'start'"],
    ['start: "a"\nstart: "b"', "line 2: 'start' is defined twice"],
    ['start: "a"\n\nb: (', "line 3: ')' was expected"],
    ['start "a"', "line 1: ':' was expected"],
    ['start: "a" )', 'line 1: the end of the line was expected'],
    ['start: "\\q"', 'line 1: "\\q" has an escape that Lark does not know'],
    ['start: "ab".."c"', 'line 1: "ab".."c" is not a range'],
    ['start: "a"~3..2', 'line 1: the repetition ~3..2 ends before it begins'],
    ['start: /a/x', "line 1: the flag 'x'"],
    ['start: A\n%import common.A', "line 2: 'common' has no terminal 'A'; it has DIGIT"],
    ['start: /(/', 'not an ECMAScript regular expression'],
    ['start: "a" start', 'none of its texts ends'],
    [`start: ${'('.repeat(60)}"a"${')'.repeat(60)}`, 'more than 50 nested groups'],
    [`start: "${'a'.repeat(100_000)}"`, 'the most is 100000'],
  ])('%s is refused', (lark, message) => {
    expect(() => larkToGbnf(lark, { param: 'grammar' })).toThrow(
      expect.objectContaining({ param: 'grammar', message: expect.stringContaining(message) }),
    )
  })

  test.each<[string, string]>([
    [
      'rules that all begin with all others',
      everyRule(20, (index) =>
        everyName(20)
          .map((name) => `${name} "${index}"`)
          .join(' | '),
      ),
    ],
    ['thousands of rules that begin with the next', everyRule(3000, (index) => `r${(index + 1) % 3000} "a"`)],
    ['a repetition of thousands of parts that may be empty', `start: (${'"a"? '.repeat(10_000)})*`],
  ])('a Lark grammar with %s is refused before it costs too much', (_, lark) => {
    expect(() => larkToGbnf(lark)).toThrow(expect.objectContaining({ kind: 'grammar-too-large' }))
  })

  test.each<[string, string]>([
    ['start: a{b}', 'line 1: templates cannot be used'],
    ['start: "a"\nlist{x}: x', 'line 2: templates cannot be used'],
    ['start: A\n%declare A', "line 2: '%declare' cannot be used"],
    ['start: A\n%import python.NAME', "line 2: 'python.NAME' cannot be imported"],
    ['start: A\n%import .other.A', "line 2: '.other.A' cannot be imported"],
    ['start: /(a)\\1/', 'back-reference'],
  ])('%s is valid, and refused by name', (lark, message) => {
    expect(() => larkToGbnf(lark)).toThrow(
      expect.objectContaining({ kind: expect.stringMatching(/^unsupported-/), message: expect.stringContaining(message) }),
    )
  })
})

function everyName(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `r${index}`)
}

function everyRule(count: number, bodyOf: (index: number) => string): string {
  return ['start: r0', ...everyName(count).map((name, index) => `${name}: ${bodyOf(index)} | "x"`)].join('\n')
}
