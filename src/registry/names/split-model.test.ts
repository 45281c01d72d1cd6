import { expect, test } from 'vitest'
import { partsOf } from './split-model.ts'

test.each([
  ['m.gguf', ['m.gguf'], true],
  ['a/m-00001-of-00002.gguf', ['a/m-00001-of-00002.gguf', 'a/m-00002-of-00002.gguf'], true],
  ['m-00002-of-00002.gguf', ['m-00001-of-00002.gguf', 'm-00002-of-00002.gguf'], false],
  ['m-00001-of-00000.gguf', ['m-00001-of-00000.gguf'], true],
  ['m-00001-of-99999.gguf', ['m-00001-of-99999.gguf'], true],
])('%s has the parts %j', (path, parts, isFirst) => {
  expect(partsOf(path)).toEqual({ parts, isFirst })
})
