import { micromark } from 'micromark'
import { gfm, gfmHtml } from 'micromark-extension-gfm'
import { describe, expect, test } from 'vitest'
import { cpuMsOf } from '../../../../../test/support/process/cpu-time.ts'
import { isCheap } from './cost.ts'
import { formulas, formulasHtml } from './formula-syntax.ts'

const read = (text: string) =>
  micromark(text, { extensions: [gfm(), formulas(false)], htmlExtensions: [gfmHtml(), formulasHtml] })

/** What takes long when it is repeated, on one line and on many. */
const units = [
  ...['>', '> ', '- ', '+ ', '* ', '1. ', '1) ', '> - ', '> + ', '- 1. '],
  ...['_*', '**a', '*a ', '~a', '~~a', '*a **b ', '***a ', '*a*b_c'],
  ...['[', '![', '[a](', '[](a', '[a][', '[^a] ', '[a](((', '`', '``a`', '<a ', '<!--', '&amp;', '\\'],
  ...['http://a.b/ ', 'www.a', 'a@b.c ', '$a', '$a ', '\\(', '\\[\n', '$$\n', '|'],
  ...[
    '- a\n',
    '> a\n',
    '1. a\n   - b\n',
    '- [ ] a\n',
    '- - a\n',
    '# a\n',
    'a\n-\n',
    'a\n=\n',
    '---\n',
    'a  \n',
    '|a|b|\n',
    '[a]: b\n',
  ],
]
const deep = (item: string, spaces: number) =>
  Array.from({ length: 125 }, (_, depth) => ' '.repeat(spaces * depth) + item).join('\n')

/** The longest beginning that is read. */
function longest(text: string): string {
  let length = Math.min(text.length, 8000)
  while (!isCheap(text.slice(0, length))) length = Math.floor(length * 0.97)
  return text.slice(0, length)
}

const mostMs = 200

/** The least of three times, if the first is too long: other processes slow a processor down, and never speed it up. */
async function costOf(text: string): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let time = 0; time < 3 && least >= mostMs; time++) least = Math.min(least, await cpuMsOf(() => read(text)))
  return least
}

describe('no block that is read as Markdown takes more than 200 ms', () => {
  const heads = ['', '> ']
  const check = async (text: string) => {
    for (const head of heads) expect(await costOf(longest(head + text))).toBeLessThan(mostMs)
  }
  test.each(units)('such as of many %j', (unit) => check(unit.repeat(8000 / unit.length)))

  test.each(['- a', '> a', '1. a'])('such as of %j, each deeper than the one before', async (item) => {
    await check(deep(item, 2))
    await check(deep(item, 4))
  })
})

test.each([
  ['prose', 'Some **bold** words, a [link](https://a.example/) and `code`, _as usual_. '.repeat(80)],
  ['a list', '- **Point**: some words about it, more or less.\n'.repeat(80)],
  ['a table', `| a | b |\n|--|--|\n${'| 1.5 | -2.5 |\n'.repeat(280)}`],
  ['a formula', `\\[\n${'x_1 &= \\frac{a_1}{b_1} + y^2 \\\\\n'.repeat(100)}\\]`],
  ['code in a list', `- so:\n  \`\`\`ts\n${'  const name_of = list[0] ?? (await read(path)) // why\n'.repeat(100)}  \`\`\`\n`],
])('%s of the usual length is read as Markdown', (_name, text) => {
  expect(text.length).toBeGreaterThan(3000)
  expect(isCheap(text)).toBe(true)
})
