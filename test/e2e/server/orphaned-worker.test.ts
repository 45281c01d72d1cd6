import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { until } from '../../support/http/app.ts'
import { isAlive } from '../../support/process/is-alive.ts'
import { programFlags } from '../../support/process/program-flags.ts'

/** A process that has ended counts as ended also while its parent has not waited for it. */
function isRunning(pid: number): boolean {
  if (!isAlive(pid)) return false
  if (process.platform !== 'linux') return true
  return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
}

async function startParent(): Promise<{ parent: ChildProcess; worker: number }> {
  const script = fileURLToPath(new URL('../../support/llama/busy-worker-parent.ts', import.meta.url))
  const parent = spawn(process.execPath, [...programFlags, script], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = (await once(createInterface({ input: parent.stdout }), 'line')) as [string]
  const worker = Number(line)
  onTestFinished(() => {
    for (const pid of [parent.pid, worker]) if (pid !== undefined && isRunning(pid)) process.kill(pid, 'SIGKILL')
  })
  return { parent, worker }
}

test.skipIf(process.platform === 'win32')('a worker that is busy ends when its server is killed', async () => {
  const { parent, worker } = await startParent()
  // It is too busy for a signal that asks.
  process.kill(worker, 'SIGTERM')
  expect(isRunning(worker)).toBe(true)
  parent.kill('SIGKILL')
  await until(() => !isRunning(worker))
})
