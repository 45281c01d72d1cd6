import { describe, expect, test } from 'vitest'
import { formatTable } from './table.ts'

test('columns are as wide as what is shown of their cells, which are one line each', () => {
  const rows = [
    ['a\u001b[2J\nfake', 'x'],
    ['b', '\u202ey'],
  ]
  expect(formatTable(['NAME', 'OTHER'], rows)).toBe('NAME              OTHER\na\\u001b[2J\\nfake  x\nb                 \\u202ey')
})

describe('in a narrow terminal', () => {
  const heading = ['MODEL', 'STATE', 'CONTEXT', 'ALSO CALLED']
  const rows = [
    ['org/scripted', 'ready', '-', 'default'],
    ['tiny', 'loading', '4096', ''],
  ]
  const table =
    'MODEL         STATE    CONTEXT  ALSO CALLED\norg/scripted  ready    -        default\ntiny          loading  4096'

  test.each([
    ['without a terminal', undefined, table],
    ['that is as wide as the table', 43, table],
    [
      'that is narrower, what a row has is below its first cell',
      42,
      'org/scripted\n  state ready, also called default\ntiny\n  state loading, context 4096',
    ],
    [
      'lines break between words',
      20,
      'org/scripted\n  state ready, also\n  called default\ntiny\n  state loading,\n  context 4096',
    ],
  ])('the table fits a terminal %s', (_, width, text) => {
    expect(formatTable(heading, rows, width)).toBe(text)
  })

  test('a word that is longer than a line is not broken', () => {
    expect(formatTable(['A', 'SOURCE'], [['x', 'hf:owner/repository']], 10)).toBe('x\n  source\n  hf:owner/repository')
  })
})
