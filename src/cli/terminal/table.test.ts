import { expect, test } from 'vitest'
import { formatTable } from './table.ts'

test('columns are as wide as what is shown of their cells, which are one line each', () => {
  const rows = [
    ['a\u001b[2J\nfake', 'x'],
    ['b', '\u202ey'],
  ]
  expect(formatTable(['NAME', 'OTHER'], rows)).toBe('NAME              OTHER\na\\u001b[2J\\nfake  x\nb                 \\u202ey')
})
