import { micromark } from 'micromark'
import { gfm, gfmHtml } from 'micromark-extension-gfm'
import { describe, expect, test } from 'vitest'
import { formulas, formulasHtml } from './formula-syntax.ts'

const render = (text: string, isLast = false) =>
  micromark(text, { extensions: [gfm(), formulas(isLast)], htmlExtensions: [gfmHtml(), formulasHtml] })
const decode = (html: string) => html.replaceAll('&amp;', '&').replaceAll('&lt;', '<').replaceAll('&quot;', '"')
/** The sources of the formulas. */
const found = (text: string, isLast = false) =>
  [...render(text, isLast).matchAll(/<code class="formula">([\s\S]*?)<\/code>/g)].map(([, source = '']) => decode(source))

describe('formulas are found', () => {
  test.each([
    ['in parentheses', String.raw`so \(a^2 + b_1 * c_1 * d\), and`, [String.raw`\(a^2 + b_1 * c_1 * d\)`]],
    ['in brackets within a line', String.raw`so \[ x \] holds`, [String.raw`\[ x \]`]],
    ['with rows of a matrix', '\\[\na & b \\\\\nc & d\n\\]', ['\\[\na & b \\\\\nc & d\n\\]']],
    ['over empty lines', '$$\na\n\nb\n$$\nafter', ['$$\na\n\nb\n$$']],
    ['with a full stop after them', '\\[\nx\n\\].', ['\\[\nx\n\\].']],
    ['directly after a line of text', 'text\n\\[\nx\n\\]\nmore', ['\\[\nx\n\\]']],
    ['in a quote, without its marks', '> \\[\n> x_1\n> \\]\n> more', ['\\[\nx_1\n\\]']],
    ['in an item of a list', '1. a\n   \\[\n   x\n   \\]\n2. b', ['\\[\nx\n\\]']],
    ['between dollars', '($x$) "$y$", $z$.', ['$x$', '$y$', '$z$']],
    ['with an escaped dollar', String.raw`$\$0.60$`, [String.raw`$\$0.60$`]],
    ['with two backslashes before a parenthesis', String.raw`a \(b \\) c\) d`, [String.raw`\(b \\) c\)`]],
    ['with a dollar between two', '$$a$b$$', ['$$a$b$$']],
    ['in a table, a heading and bold text', '# $h$\n\n| a |\n|--|\n| $x$ |\n\n**so $x^2$**', ['$h$', '$x$', '$x^2$']],
    ['before emphasis', '*a $b*c$ d*', ['$b*c$']],
  ])('%s', (_name, text, sources) => {
    expect(found(text)).toEqual(sources)
  })
})

test.each([
  'It costs $5 and $10.',
  '$5-$10, or $1,000',
  'US$5 or CA$7',
  '$5, or 4 (in US$), a month',
  'a 5$ bill and a 10$ bill',
  'from $20M, $30M to $40M',
  '$HOME/$USER',
  '$PATH and $HOME',
  '`\\(a\\)` and `$x$`',
  '```\n\\[ a \\]\n$$\n```',
  '    \\[ a \\]',
  '\\$5\\$ and \\\\(a\\\\)',
  'an empty box \\[ \\] and \\( \\)',
  '\\[ never ended\n\nanother paragraph',
])('is text: %j', (text) => {
  expect(found(text)).toEqual([])
})

test.each([
  ['\\[\na\n\nb', ['\\[\na\n\nb']],
  ['so \\(a_', ['\\(a_']],
  ['so $\\frac{1}', ['$\\frac{1}']],
  ['it costs $5 and', []],
  ['set $MY_VARIABLE to {a}, and *go*', []],
])('in the last block, a formula may lack its end: %j', (text, sources) => {
  expect(found(text, true)).toEqual(sources)
  expect(found(text)).toEqual([])
})

test('all beginnings of a text with formulas can be read', () => {
  const text = 'a \\(b\\) $c$ costs $5\n\n\\[\nx \\\\ y\n\\]\n\n> $$\n> z\n> $$\n\n- \\[ d \\] `e`'
  for (let end = 0; end <= text.length; end += 1) for (const isLast of [true, false]) render(text.slice(0, end), isLast)
  expect(found(text)).toHaveLength(5)
})

test('lines that begin a formula without an end are read without a search that grows with the square of their number', () => {
  expect(found('\\[a\n'.repeat(8000))).toEqual([])
})
