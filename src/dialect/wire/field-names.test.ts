import { describe, expect, test } from 'vitest'
import type { CanonicalPath } from '../../contract/field.ts'
import { type FieldNames, nameField } from './field-names.ts'

const names: FieldNames = {
  model: ['model'],
  list: ['items', 'elements'],
  'sampling.topP': ['top_p', 'nucleus'],
  sampling: ['sampling'],
}

describe('nameField', () => {
  test.each<[object, CanonicalPath, string]>([
    [{}, ['model'], 'model'],
    [{}, ['sampling', 'topP'], 'top_p'],
    [{ nucleus: 0 }, ['sampling', 'topP'], 'nucleus'],
    [{ top_p: 1, nucleus: 0 }, ['sampling', 'topP'], 'top_p'],
    [{ top_p: null, nucleus: 0 }, ['sampling', 'topP'], 'nucleus'],
    [{ elements: [] }, ['list', 2, 'text'], 'elements[2].text'],
    [{}, ['sampling', 'topK'], 'sampling.topK'],
    [{}, ['unknown', 0, 'a'], 'unknown[0].a'],
    [{}, [3, 'a'], '[3].a'],
    [{}, [], ''],
  ])('of %j, %j is %j', (wire, path, name) => {
    expect(nameField(names, wire, path)).toBe(name)
  })

  test.each(['constructor', '__proto__', 'toString', 'hasOwnProperty'])('knows no name of its own for %s', (step) => {
    expect(nameField(names, {}, [step])).toBe(step)
    expect(nameField(names, {}, [step, 0])).toBe(`${step}[0]`)
  })
})
