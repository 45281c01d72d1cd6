import { expect, test } from 'vitest'
import { isServerStarting } from './failure.ts'

const failure = (fields: object) => new Error('outer', { cause: Object.assign(new Error('inner'), fields) })

test.each([
  [{ code: 'ECONNREFUSED' }, true],
  [{ code: 'ENOENT', syscall: 'connect' }, true],
  [{ code: '57P03' }, true],
  [{ code: 'ENOENT', syscall: 'open' }, false],
  [{ code: '28P01' }, false],
])('a database server that is still starting: %o', (fields, expected) => {
  expect(isServerStarting(failure(fields))).toBe(expected)
})
