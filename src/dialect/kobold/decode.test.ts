import { expect, test } from 'vitest'
import { decodeKobold } from './decode.ts'

test('special tokens are shown on request, and an error about them has the name of the field', () => {
  const shown = decodeKobold({ model: 'm', prompt: 'a', render_special: true }, 'x')
  expect(shown.requests[0].showsSpecialTokens).toBe(true)
  expect(shown.nameOf(['showsSpecialTokens'])).toBe('render_special')
  expect(decodeKobold({ model: 'm', prompt: 'a', render_special: false }, 'x').requests[0].showsSpecialTokens).toBeUndefined()
})
