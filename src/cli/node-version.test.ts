import { expect, test } from 'vitest'
import { isSupportedNode } from './node-version.ts'

test.each([
  ['18.20.8', false],
  ['20.18.3', false],
  ['20.19.0', true],
  ['22.0.0', true],
  ['24.1.0-nightly', true],
])('Node.js %s is supported: %s', (version, supported) => {
  expect(isSupportedNode(version)).toBe(supported)
})
