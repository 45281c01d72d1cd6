import { expect, test } from 'vitest'
import { checkNode } from './doctor.ts'

test.each([
  ['18.20.8', 'fail'],
  ['20.18.3', 'fail'],
  ['20.19.0', 'ok'],
  ['22.0.0', 'ok'],
  ['24.1.0-nightly', 'ok'],
])('Node.js %s: %s', (version, result) => {
  const finding = checkNode(version)
  expect(finding).toMatchObject({ name: 'Node.js', result, detail: expect.stringContaining(version) })
  expect(finding.advice).toBe(result === 'ok' ? undefined : 'Dragoman needs Node.js 20.19 or later')
})
