import { describe, expect, test } from 'vitest'
import { hostileTemplates } from '../../test/support/hostile/hostile-templates.ts'
import { compileJinja, type JinjaOptions } from './jinja-template.ts'
import type { JinjaError, JinjaErrorKind } from './values/jinja-error.ts'

const now = () => new Date(2025, 6, 6, 15, 4, 5)
const render = (source: string, variables: Record<string, unknown> = {}, options: JinjaOptions = {}) =>
  compileJinja(source, { now, ...options }).render(variables)

type Row = readonly [source: string, expected: string, variables?: Record<string, unknown>]
const rows = (table: readonly Row[]) => table.map(([source, expected, variables]) => ({ source, expected, variables }))

/** What Python printed for each of these (jinja2 3.1.6 in the environment of `transformers`). */
const printed: readonly Row[] = [
  // White space
  ['{% if true %}\nx\n{% endif %}\ny', 'x\ny'],
  ['  {% if true %}\n  x\n  {% endif %}\ny', '  x\ny'],
  ['  {%+ if true %}x{% endif +%}\ny', '  x\ny'],
  ['a  {%- if true -%}  b  {%- endif -%}  c', 'abc'],
  [' {{- 1 -}} \n2', '12'],
  ['{# gone #}\nx{#- gone -#} y', 'xy'],
  ['a {%- raw -%} {{ x }} {%- endraw -%} b', 'a{{ x }}b'],
  ['one\r\n{% if true %}\r\ntwo\r\n{% endif %}\r\n', 'one\ntwo\n'],
  ['x\n\n', 'x\n'],
  // Values as they print
  [
    '{{ none }} {{ true }} {{ 1.0 }} {{ 1e16 }} {{ 0.00001 }} {{ 4 / 2 }} {{ 7 // -2 }} {{ -7 % 3 }}',
    'None True 1.0 1e+16 1e-05 2.0 -4 2',
  ],
  ["{{ ['a', \"it's\", none, 1.5, {'k': (1,)}] }}", "['a', \"it's\", None, 1.5, {'k': (1,)}]"],
  ["{{ 'a\\n\\x41' }}{{ ['\\n', '\\u00e9'] }}", "a\nA['\\n', 'é']"],
  ['{{ 1, 2 }}{{ () }}{{ range(3) }}{{ {1: 2}.items() }}', '(1, 2)()range(0, 3)dict_items([(1, 2)])'],
  // Undefined
  ['[{{ nothing }}]{{ nothing is defined }}{{ nothing | length }}{% for x in nothing %}x{% endfor %}', '[]False0'],
  ["{{ x.nope is defined }}{{ x.nope | default('d') }}{{ none.a }}{{ ('a' if false) is defined }}", 'FalsedFalse', { x: {} }],
  ["{{ x['items'] }}{{ y['items'] is defined }}", '1True', { x: { items: 1 }, y: {} }],
  // Operators
  ['{{ 1 < 2 < 3 }}{{ 1 == 1.0 }}{{ true == 1 }}{{ [1] == (1,) }}{{ 2 ** 3 ** 2 }}', 'TrueTrueTrueFalse64'],
  ["{{ 'b' in 'abc' }}{{ 1 not in [1.0] }}{{ 'k' in {'k': 0} }}{{ not 1 == 2 }}", 'TrueFalseTrueTrue'],
  ["{{ 1 ~ none ~ 'x' }}{{ 'ab' * 2 }}{{ [1] + [2] }}{{ none or 0 or 'z' }}", '1Nonexabab[1, 2]z'],
  ["{{ 'abcd'[1:3] }}{{ 'abc'[::-1] }}{{ [1, 2, 3][-1] }}{{ '🌍a'[1] }}{{ '🌍a' | length }}", 'bccba3a2'],
  [
    "{{ '%s is %d, %05.1f%%' % ('x', 7, 2.25) }}{{ '{:>4}|{0!r}'.format(1) if false else '{0:>4}|{1!r}'.format(1, 'q') }}",
    "x is 7, 002.2%   1|'q'",
  ],
  // Scopes
  ['{% set x = 0 %}{% for i in [1, 2] %}{{ x }}{% set x = i %}{{ x }}{% endfor %}{{ x }}', '01020'],
  ['{% set ns = namespace(n=0) %}{% for i in [1, 2] %}{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }}', '3'],
  ['{% set x = 1 %}{% macro m() %}{{ x }}{% endmacro %}{% set x = 2 %}{{ m() }}', '2'],
  ['{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}{{ a }}', '3'],
  ['{% set x %}a{{ 1 }}{% endset %}{% set y | upper %}b{% endset %}{{ x }}{{ y }}{% filter upper %}c{% endfilter %}', 'a1BC'],
  ['{% generation %}{% set q = 1 %}{{ q }}{% endgeneration %}[{{ q }}]', '1[]'],
  // Loops
  [
    '{% for x in [1, 2, 3] %}{% if x == 2 %}{% continue %}{% endif %}{{ loop.index }}{{ loop.last }}{% else %}none{% endfor %}',
    '1False3True',
  ],
  [
    '{% for x in range(9) %}{% if x > 1 %}{% break %}{% endif %}{{ x }}{% endfor %}{% for x in [] %}{% else %}none{% endfor %}',
    '01none',
  ],
  [
    '{% for x in [1, 2, 3] if x != 2 %}{{ loop.index }}/{{ loop.length }}{{ loop.previtem }}>{{ loop.nextitem }};{% endfor %}',
    '1/2>3;2/21>;',
  ],
  ['{% for x in [[1, [2]], [3]] recursive %}{{ loop(x) if x is iterable else x ~ loop.depth }}{% endfor %}', '122332'],
  ["{% for k, v in {'a': 1}.items() %}{{ k }}{{ v }}{% endfor %}{{ loop is defined }}", 'a1False'],
  [
    '{% set ns = namespace(found=false) %}{% for x in [1, 2, 3] if not ns.found %}{{ x }}{% set ns.found = x == 2 %}{% endfor %}',
    '12',
  ],
  // Macros
  ['{% macro f(a, b=a, c=3) %}{{ a }}{{ b }}{{ c }};{% endmacro %}{{ f(1) }}{{ f(1, c=2) }}{{ f() }}', '113;112;3;'],
  ['{% macro f() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ f(1, x=2) }}', "(1,){'x': 2}"],
  ['{% macro f(a) %}<{{ caller(a) }}>{% endmacro %}{% call(x) f(5) %}{{ x }}!{% endcall %}', '<5!>'],
  ['{% macro f(n) %}{{ n }}{{ f(n - 1) if n }}{% endmacro %}{{ f(3) }}', '3210'],
  // Filters and tests
  ["{{ {'b': 'é<', 'a': [1, none, 1.5, true]} | tojson }}", '{"b": "é<", "a": [1, null, 1.5, true]}'],
  ["{{ {'b': [], 'a': {'c': 1}} | tojson(indent=2, sort_keys=true) }}", '{\n  "a": {\n    "c": 1\n  },\n  "b": []\n}'],
  ["{{ x | tojson(ensure_ascii=true, separators=(',', ':')) }}", '{"k":"\\u00e9","l":[1,2]}', { x: { k: 'é', l: [1, 2] } }],
  [
    "{{ xs | map(attribute='a.b') | join(',') }}{{ xs | selectattr('n', '>', 1) | map(attribute='n') | list }}",
    '1,2[2]',
    {
      xs: [
        { a: { b: 1 }, n: 1 },
        { a: { b: 2 }, n: 2 },
      ],
    },
  ],
  [
    "{{ ['b', 'A'] | sort }}{{ [3, 1] | max }}{{ {'b': 1, 'A': 2} | dictsort }}{{ [1, 2] | sum }}",
    "['A', 'b']3[('A', 2), ('b', 1)]3",
  ],
  [
    "{{ ' x\\n' | trim }}{{ 'a\\nb' | indent(2) }}{{ 'x y' | title }}{{ none | string }}{{ '7.9' | int }}{{ 2.5 | round }}",
    'xa\n  bX YNone72.0',
  ],
  [
    "{% set g = [1, 2] | map('string') %}{{ g | list }}{{ g | list }}{{ [1, 2, 3] | batch(2) | list }}",
    "['1', '2'][][[1, 2], [3]]",
  ],
  [
    "{{ [1] is sequence }}{{ {} is mapping }}{{ 1.0 is float }}{{ true is integer }}{{ 3 is divisibleby 3 }}{{ 'a' is in ['a'] }}",
    'TrueTrueTrueFalseTrueTrue',
  ],
  ["{{ '<' | safe + '<' }}{{ '<b>' | e }}", '<&lt;&lt;b&gt;'],
  [
    "{{ 'a' | safe is escaped }}{{ 'a' | e is escaped }}{{ 'a' is escaped }}{{ 1 is escaped }}{{ ('a' | safe) is string }}",
    'TrueTrueFalseFalseTrue',
  ],
  // Methods
  [
    "{{ 'a,b,c'.split(',', 1) }}{{ ' a  b '.split() }}{{ 'xxa'.lstrip('x') }}{{ 'abc'.startswith(('z', 'a')) }}",
    "['a', 'b,c']['a', 'b']aTrue",
  ],
  ["{{ x.get('q') }}{{ x.get('q', 1) }}{{ x.keys() | list }}{{ x.k.upper() }}", "None1['k']V", { x: { k: 'v' } }],
  // Globals
  ["{{ strftime_now('%d %b %Y %H:%M %-d %B %A %j') }}", '06 Jul 2025 15:04 6 July Sunday 187'],
  ["{{ range(1, 10, 4) | list }}{{ dict(a=1) }}{% set j = joiner('-') %}{{ j() }}{{ j() }}", "[1, 5, 9]{'a': 1}-"],
  ['{% if false %}{{ x | nothing_like_it }}{% endif %}ok', 'ok'],
  // Filters, methods and formats that chat templates use less
  [
    "{{ 'one two three' | truncate(9) }}|{{ 'one two three' | truncate(9, true, leeway=0) }}|{{ 'short' | truncate(9) }}",
    'one two three|one tw...|short',
  ],
  ["{{ 'ab' | center(5) }}|{{ 'ab'.ljust(4) }}|{{ '7'.zfill(3) }}|{{ '-7'.zfill(4) }}", '  ab |ab  |007|-007'],
  ["{{ ['b', 'B', 'a'] | unique | list }}", "['b', 'a']"],
  [
    "{{ [1, 2, 3] | reject('odd') | list }}{{ [0, 1] | select | list }}{{ xs | rejectattr('a') | list }}",
    "[2][1][{'a': 0}]",
    { xs: [{ a: 0 }, { a: 1 }] },
  ],
  [
    "{{ '%s-%s' | format(1, 'x') }}{{ '%(a)s' | format(a=2) }}{{ 'ff' | int(base=16) }}{{ 'x' | int(7) }}{{ '1.5' | float }}",
    '1-x225571.5',
  ],
  [
    "{{ 2.5 | round }}{{ 3.14159 | round(2) }}{{ 1.2 | round(method='ceil') }}{{ 25 | round(-1) }}{{ -3.7 | int }}",
    '2.03.142.020-3',
  ],
  ["{% for x in 'abcd' %}{{ loop.cycle('x', 'y') }}{{ loop.changed(x in 'ab') }};{% endfor %}", 'xTrue;yFalse;xTrue;yFalse;'],
  [
    "{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.current }}{{ c.next() }}{% set _ = c.reset() %}{{ c.current }}",
    'abaaa',
  ],
  [
    '{{ loop.index if loop is defined }}{% for x in [[1], []] %}{{ loop.revindex }}{% for y in x %}{{ loop.first }}{% else %}none{% endfor %}{% endfor %}',
    '2True1none',
  ],
  [
    "{{ 'a-b c'.title() }}{{ 'a,b'.partition(',') }}{{ 'a.b.c'.rsplit('.', 1) }}{{ 'x'.isalpha() }}{{ '١'.isdigit() }}",
    "A-B C('a', ',', 'b')['a.b', 'c']TrueTrue",
  ],
  [
    "{{ 'abcabc'.find('c') }}{{ 'abcabc'.rfind('c') }}{{ 'abcabc'.count('b') }}{{ 'xyx'.removeprefix('x').removesuffix('x') }}",
    '252y',
  ],
  [
    "{{ x.items() | list }}{{ x | items | list }}{{ x.values() | list }}{{ x | dictsort(by='value', reverse=true) }}{{ x | length }}",
    "[('b', 1), ('a', 2)][('b', 1), ('a', 2)][1, 2][('a', 2), ('b', 1)]2",
    { x: { b: 1, a: 2 } },
  ],
  ["{{ 'ß'.title() }}{{ 'ﬁn'.capitalize() }}{{ 'ab'.find('', 2, 0) }}{{ 'a'.endswith('', 5) }}", 'SsFin-1False'],
  [
    "{{ '٣' | float }}{{ '٣' | int }}{{ 'abc' | batch(0) | list }}{{ -7 % 0.5 }}{{ '%a' % 'é' }}",
    "3.03[[], ['a', 'b', 'c']]0.0'\\xe9'",
  ],
  ["{{ '{:>{}}|{:{}.{}}'.format('x', 4, 'abc', 5, 2) }}", '   x|ab   '],
  [
    "{{ '{:,}'.format(1234567) }}{{ '{:.2f}'.format(2.675) }}{{ '{:^5}|{:>3}'.format('a', 1) }}{{ '{0.a}{1[0]}'.format(x, [5]) }}",
    '1,234,5672.67  a  |  115',
    { x: { a: 1 } },
  ],
  ["{{ '%5.1f|%-4d|%+d|%x|%e|%g' % (3.14159, 7, 7, 255, 12345.678, 0.0001) }}", '  3.1|7   |+7|ff|1.234568e+04|0.0001'],
  ['{{ 10 // 3 }}{{ -10 // 3 }}{{ 10 % -3 }}{{ 2 ** -1 }}{{ 1e3 }}{{ 0x1f }}{{ 1_000 }}', '3-4-20.51000.0311000'],
  [
    "{{ [1, [2]] < [1, [3]] }}{{ 'a' < 'b' }}{{ (1, 2) == (1, 2) }}{{ none == false }}{{ 1 is sameas 1 }}{{ 1 is sameas true }}",
    'TrueTrueTrueFalseTrueFalse',
  ],
  [
    "{{ [3, 1, 2] | sort(reverse=true) }}{{ ['a', 'c', 'b'] | last }}{{ [] | first is defined }}{{ [] | max is defined }}{{ xs | sum(attribute='n') }}{{ ['a','B'] | min }}",
    '[3, 2, 1]bFalseFalse3a',
    { xs: [{ n: 1 }, { n: 2 }] },
  ],
  [
    '{% macro outer() %}{% macro inner() %}i{% endmacro %}{{ inner() }}{{ caller() }}{% endmacro %}{% call outer() %}c{% endcall %}',
    'ic',
  ],
  ['{% block body %}{% set x = 1 %}{{ x }}{% endblock %}{{ x }}', '1'],
  [
    '{%- set a, b = 1, [2, 3] -%}{{ a }}{{ b[::-1] }}{% set t = (1, 2, 3) %}{{ t[1:] }}{{ t.index(3) }}{{ t.count(1) }}',
    '1[3, 2](2, 3)21',
  ],
  ["{{ \"a\" 'b' }}{{ 'é\\x41\\u00e9\\U0001F30D\\q' }}{{ '\\n' | length }}", 'abéAé🌍\\q1'],
  [
    "{{ 'x' if nothing else 'y' }}{{ nothing or 'z' }}{{ (nothing | default(1, true)) + 1 }}{{ '' | default('e', true) }}",
    'yz2e',
  ],
  [
    "{{ {'a': {'b': [1, (2, none)]}} | string }}{{ {'a': \"it's\"} | tojson }}{{ 'é' | tojson }}{{ 1.0 | tojson }}{{ [] | tojson(indent=4) }}",
    '{\'a\': {\'b\': [1, (2, None)]}}{"a": "it\'s"}"é"1.0[]',
  ],
  ["{% if 'a' in ['b', 'a'] and not ('c' in 'ab') or false %}yes{% elif true %}no{% endif %}", 'yes'],
  [
    "{{ '  a\\n b ' | trim | indent(4, true) }}{{ 'x' | replace('', '-') }}{{ 'aXbX' | replace('X', '', 1) }}",
    '    a\n     b-x-abX',
  ],
  [
    "{{ [1,2] | join('-') }}{{ [{'n': 'a'}, {'n': 'b'}] | join(', ', attribute='n') }}{{ 'abc' | list }}{{ 'abc' | reverse }}{{ [1, 2] | reverse | list }}",
    "1-2a, b['a', 'b', 'c']cba[2, 1]",
  ],
  [
    "{{ 'HELLO' | lower | capitalize }}{{ -5 | abs }}{{ 'abc' | batch(2, '-') | list }}{{ {'a': 1} | attr('a') is defined }}",
    "Hello5[['a', 'b'], ['c', '-']]False",
  ],
  ['{%- for i in range(3) recursive -%}{{ i }}{%- endfor -%}\n  {#- c -#}  end', '012end'],
  ['a\n  {%- if true %}\n  b\n  {%- endif %}\nc', 'a  bc'],
  [
    "{{ 3 is odd }}{{ 'A' is upper }}{{ none is none }}{{ x is callable }}{{ range is callable }}{{ 'a' is filter }}{{ 'trim' is filter }}{{ 2 is even }}{{ 1 is ge(1) }}",
    'TrueTrueTrueTrueTrueFalseTrueTrueTrue',
  ],
]

type Refusal = readonly [source: string, kind: JinjaErrorKind, message: string, variables?: Record<string, unknown>]

/** What Python refuses, and with which words. */
const refused: readonly Refusal[] = [
  ["{{ 'abc' | truncate(1) }}", 'runtime', 'expected length >= 3, got 1'],
  ["{{ 'abc' | truncate(3, leeway=-1) }}", 'runtime', 'expected leeway >= 0, got -1'],
  ["{{ '%x' % 1.5 }}", 'runtime', '%x format: an integer is required, not float'],
  ["{{ '{:x}'.format('a') }}", 'runtime', "Unknown format code 'x' for object of type 'str'"],
  ["{{ '{:>3}'.format(none) }}", 'runtime', 'unsupported format string passed to NoneType.__format__'],
  ["{{ '{:.2}'.format(1) }}", 'runtime', 'Precision not allowed in integer format specifier'],
  ["{{ '{0:{1:{2}}}'.format(1, 2, 3) }}", 'runtime', 'Max string recursion exceeded'],
  ["{{ raise_exception('roles must alternate') }}", 'raised', 'roles must alternate'],
  ["{{ 'a' + x }}", 'runtime', 'can only concatenate str (not "list") to str', { x: [] }],
  ["{{ 'a' + none }}", 'runtime', 'can only concatenate str (not "NoneType") to str'],
  ['{{ nothing.at.all }}', 'undefined', "'nothing' is undefined"],
  ["{{ x.a['b'] }}", 'undefined', "'dict object' has no attribute 'a'", { x: {} }],
  ['{{ x[0].role }}', 'undefined', 'list object has no element 0', { x: [] }],
  ['{{ nothing() }}', 'undefined', "'nothing' is undefined"],
  ["{{ 'a'.split(nothing) }}", 'undefined', "'nothing' is undefined"],
  ['{{ nothing + 1 }}', 'undefined', "'nothing' is undefined"],
  ["{{ 'text'.items() }}", 'undefined', "'str object' has no attribute 'items'"],
  ['{% for t in none %}{% endfor %}', 'runtime', "'NoneType' object is not iterable"],
  ["{{ [1] | map('string') | tojson }}", 'runtime', 'Object of type generator is not JSON serializable'],
  ['{{ [1] | length > none }}', 'runtime', "'>' not supported between instances of 'int' and 'NoneType'"],
  ['{{ x | from_json }}', 'syntax', "No filter named 'from_json'."],
  ['{{ x is odd_looking }}', 'syntax', "No test named 'odd_looking'."],
  ['{% if true %}{{ x | from_json }}{% endif %}', 'runtime', "No filter named 'from_json' found."],
  ['{% for a, b in [(1, 2, 3)] %}{% endfor %}', 'runtime', 'too many values to unpack (expected 2, got 3)'],
  ['{{ [].append(1) }}', 'undefined', "access to attribute 'append' of 'list' object is unsafe."],
  ['{{ range(100001) }}', 'runtime', 'Range too big'],
  ['{% macro f(a) %}{% endmacro %}{{ f(1, 2) }}', 'runtime', 'takes not more than 1 argument(s)'],
  ["{% include 'other' %}", 'runtime', 'a chat template is one file'],
  ['{% do 1 %}', 'syntax', "unknown tag 'do'"],
  ['{% if true %}', 'syntax', 'was expected'],
  ['{{ 1', 'syntax', 'the tag is not closed'],
  ['{{ (1]) }}', 'syntax', "unexpected ']'"],
  ['{% break %}', 'syntax', "'break' outside loop"],
]

describe('a Jinja template', () => {
  test.each(rows(printed))('a Jinja template prints what Python prints: $source', ({ source, expected, variables }) => {
    expect(render(source, variables)).toBe(expected)
  })

  const refusals = refused.map(([source, kind, message, variables]) => ({ source, kind, message, variables }))
  test.each(refusals)('a Jinja template refuses what Python refuses: $source', ({ source, kind, message, variables }) => {
    const failed = { name: 'JinjaError', kind, message: expect.stringContaining(message) }
    expect(() => render(source, variables)).toThrow(expect.objectContaining(failed))
  })

  test.each([
    ['a\nb {{ ? }}', 2],
    ['{{ 1 }}\r\n\r\n{{ x | nope }}', 3],
    ['{% for x in y %}\n{% endif %}', 2],
  ])('%j: the error names line %i', (source, line) => {
    expect(() => compileJinja(source)).toThrow(expect.objectContaining({ kind: 'syntax', line }))
  })

  test('a Jinja template may change its lists and print generators as JSON under the rules of llama.cpp', () => {
    const source = "{% set xs = [1] %}{% set _ = xs.append(2) %}{{ xs }}{{ xs | map('string') | tojson }}"
    expect(render(source, {}, { rules: 'llama.cpp' })).toBe('[1, 2]["1", "2"]')
  })

  test.each([
    '{{ x.constructor }}{{ x.__proto__ }}{{ x.toString }}{{ x.hasOwnProperty }}',
    "{{ x['constructor'] }}{{ x['__proto__'] }}{{ ''['constructor'] }}{{ [].length }}{{ 'a'.length }}",
    '{{ constructor }}{{ __proto__ }}{{ toString }}{{ globalThis }}{{ process }}',
  ])('a Jinja template reaches no property of JavaScript: %s', (source) => {
    expect(render(source, { x: {} })).toBe('')
  })

  test('a Jinja template keeps a key of the caller called __proto__ as a key', () => {
    expect(render('{{ x | tojson }}', { x: JSON.parse('{"__proto__": {"a": 1}}') })).toBe('{"__proto__": {"a": 1}}')
  })

  test('a Jinja template fails that would take for ever, or all the memory', () => {
    expect(hostileTemplates.length).toBeGreaterThan(120)
    const limits = { steps: 30_000, memory: 1 << 20 }
    const kinds = hostileTemplates.map((source) => {
      try {
        return `${source.slice(0, 200)}: ${compileJinja(source, { rules: 'llama.cpp', now }).render({}, limits).length} characters`
      } catch (error) {
        return (error as JinjaError).kind
      }
    })
    expect(kinds.filter((kind) => kind !== 'budget' && kind !== 'syntax')).toEqual([])
  })

  test('a Jinja template has limits that grow with what it is given, and pays for each character a bounded number of times', () => {
    const source =
      '{% for m in messages %}{{ m.content | trim | replace("a", "b") | tojson }}{{ m.content.split("c") | length }}{% endfor %}'
    const messages = Array.from({ length: 200 }, (_, index) => ({ content: `${index} abc \n`.repeat(2000) }))
    expect(compileJinja(source).render({ messages }).length).toBeGreaterThan(3_500_000)
  })

  test('a Jinja template says which names it reads', () => {
    const { names } = compileJinja('{% if enable_thinking %}{{ messages[0].thinking }}{% endif %}')
    expect([...names].sort()).toEqual(['enable_thinking', 'messages'])
  })
})
