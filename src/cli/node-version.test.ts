import { expect, test } from 'vitest'
import { isSupportedNode } from './node-version.ts'

test.each([
  ['18.20.8', false],
  ['20.20.2', false],
  ['22.12.0', false],
  ['22.13.0', true],
  ['24.1.0-nightly', true],
])('Node.js %s is supported: %s', (version, supported) => {
  expect(isSupportedNode(version)).toBe(supported)
})
