import { tmpdir } from 'node:os'
import { afterEach, expect, test, vi } from 'vitest'
import { runPython } from './python.ts'

afterEach(() => void vi.restoreAllMocks())

test.each(['ESRCH', 'EPERM'])('a process group that returns %s has ended: stopping it does not fail', async (code) => {
  vi.spyOn(process, 'kill').mockImplementation(() => {
    throw Object.assign(new Error(`kill ${code}`), { code })
  })
  const stopped = new AbortController()
  const script = 'print(1, flush=True); import time; time.sleep(0.1)'
  const run = async () => {
    for await (const _ of runPython(['-c', script], { cwd: tmpdir(), signal: stopped.signal })) stopped.abort()
  }
  await expect(run()).rejects.toThrow('aborted')
  expect(process.kill).toHaveBeenCalled()
})

test('of what it writes to its standard error without end, the end is the reason', async () => {
  const script = "import sys; sys.stderr.write('x' * 4_000_000 + 'broken'); sys.exit(1)"
  const run = async () => {
    for await (const _ of runPython(['-c', script], { cwd: tmpdir() }));
  }
  await expect(run()).rejects.toMatchObject({ code: 'model-unavailable', message: `${'x'.repeat(3994)}broken` })
})
