import { expect, test } from 'vitest'
import { spelledAs } from './aliases.ts'

test.each([
  ['Tiny', 'tiny'],
  ['TINY:LATEST', 'tiny'],
  ['Big:7B', 'big:7b'],
  ['Default', 'default'],
  ['other', 'other'],
])('%s is the model that is called %s here', (name, expected) => {
  const models = [
    { id: 'tiny', aliases: ['default'] },
    { id: 'big:7b', aliases: [] },
  ]
  expect(spelledAs(models, name)).toBe(expected)
})
