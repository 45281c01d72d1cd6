import { expect, test } from 'vitest'
import type { LoadPhase } from '../../contract/server/lifecycle.ts'
import { createPullLines } from './pull.ts'

type Progress = { readonly phase: LoadPhase; readonly doneBytes: number; readonly totalBytes: number }

/** The lines of a pull whose progress comes at these times. */
function saidTo(steps: readonly (readonly [nowMs: number, progress: Progress])[]): readonly string[] {
  let time = 0
  const lines = createPullLines({ digest: 'a'.repeat(64), now: () => time })
  return steps.map(([nowMs, progress]) => {
    time = nowMs
    const line = lines.progress({ ...progress, fraction: 0 })
    if (line === '') return ''
    const { status, completed = '' } = JSON.parse(line)
    return `${status} ${completed}`.trim()
  })
}

const downloading = (doneBytes: number): Progress => ({ phase: 'downloading', doneBytes, totalBytes: 100 })

test('a bar moves four times a second, and reaches its end', () => {
  const said = saidTo([
    [0, downloading(0)],
    [10, downloading(10)],
    [249, downloading(20)],
    [250, downloading(30)],
    [260, downloading(100)],
  ])
  expect(said).toEqual(['pulling aaaaaaaaaaaa 0', '', '', 'pulling aaaaaaaaaaaa 30', 'pulling aaaaaaaaaaaa 100'])
})

test('the steps after the download are named once', () => {
  const said = saidTo([
    [0, downloading(100)],
    [1, { phase: 'verifying', doneBytes: 0, totalBytes: 100 }],
    [999, { phase: 'verifying', doneBytes: 50, totalBytes: 100 }],
    [1000, { phase: 'loading', doneBytes: 0, totalBytes: 100 }],
    [2000, { phase: 'loading', doneBytes: 100, totalBytes: 100 }],
    [2001, { phase: 'warming-up', doneBytes: 0, totalBytes: 0 }],
  ])
  expect(said).toEqual(['pulling aaaaaaaaaaaa 100', 'verifying sha256 digest', '', 'writing manifest', '', ''])
})
