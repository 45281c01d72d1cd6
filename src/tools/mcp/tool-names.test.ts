import fc from 'fast-check'
import { expect, test } from 'vitest'
import { codePoint } from '../../../test/support/code-point.ts'
import { modelNames } from './tool-names.ts'

test('a tool is called by its server and its name', () => {
  expect([...modelNames('docs', ['search', 'get-page'])]).toEqual([
    ['search', 'docs__search'],
    ['get-page', 'docs__get-page'],
  ])
})

test('characters that models do not accept are underscores', () => {
  expect(modelNames('docs', ['pages.get/one', 'größe']).get('pages.get/one')).toBe('docs__pages_get_one')
})

test('a valid name stays, and names that become equal get distinct ones', () => {
  const names = modelNames('s', ['a_b', 'a.b', 'a b'])
  expect(names.get('a_b')).toBe('s__a_b')
  expect(names.get('a.b')).toMatch(/^s__a_b_[0-9a-f]{8}$/)
  expect(names.get('a b')).toMatch(/^s__a_b_[0-9a-f]{8}$/)
})

test('each tool has a name of its own that all model APIs accept', () => {
  const server = fc.stringMatching(/^[A-Za-z0-9-]{1,32}$/)
  fc.assert(
    fc.property(server, fc.uniqueArray(fc.string({ maxLength: 100, unit: codePoint }), { maxLength: 20 }), (label, tools) => {
      const names = [...modelNames(label, tools).values()]
      for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
      expect(new Set(names).size).toBe(tools.length)
    }),
  )
})
