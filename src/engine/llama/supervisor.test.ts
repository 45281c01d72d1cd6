import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { FakeWorkers, ready } from '../../../test/support/llama/fake-workers.ts'
import type { AppError } from '../../contract/errors.ts'
import type { WorkerExit } from './process.ts'
import { Supervisor } from './supervisor.ts'

const firstPauseMs = 100
const never = new AbortController().signal
describe('Supervisor', () => {
  let workers: FakeWorkers
  let supervisor: Supervisor
  let failures: AppError[]
  let exits: WorkerExit[]
  let debugEntries: unknown[]
  let fetching: AbortSignal
  let locate: () => Promise<{ modelPath: string; slots: number; flashAttention: boolean }>

  beforeEach(() => {
    vi.useFakeTimers()
    workers = new FakeWorkers()
    failures = []
    exits = []
    debugEntries = []
    locate = async () => ({ modelPath: 'm.gguf', slots: 1, flashAttention: true })
    supervisor = new Supervisor({
      model: 'm',
      locate: (signal) => {
        fetching = signal
        return locate()
      },
      spawn: workers.spawn,
      log: { debug: (...entry: unknown[]) => debugEntries.push(entry), info: () => undefined, warn: () => undefined },
      onReport: () => undefined,
      media: () => undefined,
      onExit: (error, exit) => {
        failures.push(error)
        exits.push(exit)
      },
    })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  const turn = () => vi.advanceTimersByTimeAsync(0)
  const load = async () => {
    const waiting = supervisor.ensureReady(never)
    await turn()
    workers.last.handlers.onReport(ready)
    await waiting
  }

  test("a worker's log entries keep their own level beside the log's", async () => {
    await load()
    workers.last.handlers.onReport({ type: 'log', level: 'error', message: 'no such device' })
    expect(debugEntries.at(-1)).toEqual([{ model: 'm', workerLevel: 'error' }, 'no such device'])
  })

  test('a worker that is killed while it loads is started once more, and its requests wait for that', async () => {
    const waiting = supervisor.ensureReady(never)
    await turn()
    workers.last.exit({ description: 'killed by SIGKILL', fromOutside: true })
    await vi.advanceTimersByTimeAsync(firstPauseMs)
    expect(workers.started).toHaveLength(2)
    workers.last.handlers.onReport(ready)
    await waiting
  })

  test('a worker that is killed again while it loads fails the load', async () => {
    const waiting = supervisor.ensureReady(never)
    waiting.catch(() => undefined)
    await turn()
    for (let kill = 0; kill < 2; kill += 1) {
      workers.last.exit({ description: 'killed by SIGKILL', fromOutside: true })
      await vi.advanceTimersByTimeAsync(firstPauseMs)
    }
    await expect(waiting).rejects.toThrow('the process that loads the model ended (killed by SIGKILL)')
    expect(workers.started).toHaveLength(2)
  })

  test('nothing runs until the model is needed', () => {
    expect(supervisor.state).toEqual({ type: 'stopped' })
    expect(workers.started).toHaveLength(0)
  })

  test('a worker goes from starting through loading, with progress, to ready', async () => {
    const waiting = supervisor.ensureReady(never)
    expect(supervisor.state).toEqual({ type: 'starting' })
    await turn()
    workers.last.handlers.onReport({ type: 'loading', progress: 0.5 })
    expect(supervisor.state).toEqual({ type: 'loading', progress: 0.5 })
    workers.last.handlers.onReport(ready)
    await waiting
    expect(supervisor.state).toEqual({ type: 'ready' })
    expect(supervisor.loaded).toMatchObject({ contextLength: 100 })
  })

  test('the facts of a load are there when it is ready', async () => {
    const known: (number | undefined)[] = []
    supervisor.onState(({ type }) => {
      if (type === 'ready') known.push(supervisor.loaded?.contextLength)
    })
    await load()
    expect(known).toEqual([100])
  })

  test('all waiters share one worker', async () => {
    const waiting = [supervisor.ensureReady(never), supervisor.ensureReady(never)]
    await turn()
    workers.last.handlers.onReport(ready)
    await Promise.all(waiting)
    expect(workers.started).toHaveLength(1)
  })

  test('a waiter that aborts does not affect the others', async () => {
    const controller = new AbortController()
    const leaving = supervisor.ensureReady(controller.signal)
    const staying = supervisor.ensureReady(never)
    controller.abort(new Error('left'))
    await expect(leaving).rejects.toThrow('left')
    await turn()
    workers.last.handlers.onReport(ready)
    await staying
  })

  test('a crash fails what runs with the signal that ended it, and the worker comes back after a pause', async () => {
    await load()
    workers.last.exit({ description: 'killed by SIGSEGV' })
    await turn()
    expect(failures).toMatchObject([{ code: 'engine-failed', message: expect.stringContaining('killed by SIGSEGV') }])
    expect(supervisor.state).toMatchObject({ type: 'failed', retryAtMs: performance.now() + firstPauseMs })

    const waiting = supervisor.ensureReady(never)
    await vi.advanceTimersByTimeAsync(firstPauseMs)
    expect(workers.started).toHaveLength(2)
    workers.last.handlers.onReport(ready)
    await waiting
  })

  test('the pause before a restart doubles with each crash, up to 30 seconds', async () => {
    await load()
    const pausesMs = [100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000]
    for (const [crash, pauseMs] of pausesMs.entries()) {
      workers.last.exit({})
      await turn()
      await vi.advanceTimersByTimeAsync(pauseMs - 1)
      expect(workers.started).toHaveLength(crash + 1)
      await vi.advanceTimersByTimeAsync(1)
      expect(workers.started).toHaveLength(crash + 2)
      workers.last.handlers.onReport(ready)
    }
  })

  test('a failed load rejects all waiters with the reason, and is not retried without a request', async () => {
    const waiting = supervisor.ensureReady(never)
    await turn()
    workers.last.handlers.onReport({ type: 'load-failed', message: 'not a GGUF file' })
    await expect(waiting).rejects.toMatchObject({
      code: 'model-unavailable',
      message: expect.stringContaining('not a GGUF file'),
    })
    await vi.advanceTimersByTimeAsync(60_000)
    expect(workers.started).toHaveLength(1)
  })

  test('after a failed load requests are refused immediately, until the pause is over and one of them tries again', async () => {
    locate = () => Promise.reject(new Error('no such file'))
    await expect(supervisor.ensureReady(never)).rejects.toMatchObject({ code: 'model-unavailable' })
    await expect(supervisor.ensureReady(never)).rejects.toMatchObject({ retryAfterMs: firstPauseMs })
    locate = async () => ({ modelPath: 'm.gguf', slots: 1, flashAttention: true })
    await vi.advanceTimersByTimeAsync(firstPauseMs)
    await load()
    expect(supervisor.state).toEqual({ type: 'ready' })
  })

  test('a process that dies while it loads is a failed load, with its last lines', async () => {
    const waiting = supervisor.ensureReady(never)
    await turn()
    workers.last.exit({ description: 'killed by SIGABRT', lastLines: ['GGML_ASSERT failed'], fromOutside: false })
    await expect(waiting).rejects.toMatchObject({ message: expect.stringMatching(/SIGABRT.*GGML_ASSERT failed/) })
  })

  test('stopping refuses new work, ends the waiting callers, and then the process', async () => {
    const waiting = supervisor.ensureReady(never)
    await turn()
    const stopped = supervisor.stop()
    await Promise.all([
      expect(waiting).rejects.toMatchObject({ code: 'shutting-down' }),
      expect(supervisor.ensureReady(never)).rejects.toMatchObject({ code: 'shutting-down' }),
      stopped,
    ])
    expect(supervisor.state).toEqual({ type: 'stopped' })
    expect(failures).toMatchObject([{ code: 'engine-failed' }])
  })

  test('a stop while the model is fetched aborts the fetch, and is not a failure', async () => {
    const ended: string[] = []
    locate = () =>
      new Promise((_, reject) => {
        fetching.addEventListener('abort', () => {
          ended.push('fetching')
          reject(fetching.reason)
        })
      })
    const waiting = supervisor.ensureReady(never)
    const stopped = supervisor.stop()
    await expect(waiting).rejects.toMatchObject({ code: 'shutting-down' })
    await stopped
    expect(ended).toEqual(['fetching'])
    expect(supervisor.state).toEqual({ type: 'stopped' })
    expect(workers.started).toHaveLength(0)
  })

  test('a worker that no longer answers counts as crashed, and is ended', async () => {
    await load()
    const { started } = workers
    supervisor.abandon('it hangs')
    expect(failures).toMatchObject([{ code: 'engine-failed', message: expect.stringContaining('it hangs') }])
    expect(supervisor.state).toMatchObject({ type: 'failed' })
    await vi.advanceTimersByTimeAsync(firstPauseMs)
    expect(started).toHaveLength(2)
  })

  test('a worker that answers nothing for a minute counts as crashed; one that answers stays', async () => {
    await load()
    for (let minute = 0; minute < 3; minute++) {
      await vi.advanceTimersByTimeAsync(50_000)
      workers.last.handlers.onReport({ type: 'pong' })
    }
    expect(workers.last.commands.filter(({ type }) => type === 'ping').length).toBeGreaterThan(10)
    expect(supervisor.state).toEqual({ type: 'ready' })
    await vi.advanceTimersByTimeAsync(75_000)
    expect(failures).toMatchObject([{ code: 'engine-failed', message: expect.stringContaining('60 seconds') }])
  })

  test('a worker that answers nothing for ten minutes while it loads fails the load; one that answers may load for hours', async () => {
    const waiting = supervisor.ensureReady(never)
    waiting.catch(() => undefined)
    for (let hour = 0; hour < 3; hour++) {
      for (let minutes = 0; minutes < 60; minutes += 9) {
        await vi.advanceTimersByTimeAsync(9 * 60_000)
        workers.last.handlers.onReport({ type: 'pong' })
      }
    }
    expect(supervisor.state).toMatchObject({ type: 'loading' })
    await vi.advanceTimersByTimeAsync(11 * 60_000)
    await expect(waiting).rejects.toThrow('the process that loads the model ended (it did not answer for 600 seconds)')
    await load()
    expect(workers.started).toHaveLength(2)
  })

  test('time that passes while the machine sleeps is not held against a worker', async () => {
    await load()
    vi.setSystemTime(Date.now() + 3_600_000)
    await vi.advanceTimersByTimeAsync(10_000)
    expect(workers.last.commands.at(-1)).toEqual({ type: 'ping' })
    expect(supervisor.state).toEqual({ type: 'ready' })
  })

  test('a worker that `stop` ends does not count as killed from outside', async () => {
    await load()
    await supervisor.stop()
    expect(exits).toMatchObject([{ description: 'killed by SIGTERM', fromOutside: false }])
  })

  test('without a worker, sending fails', () => {
    expect(() => supervisor.send({ type: 'cancel', id: 'r' })).toThrow(expect.objectContaining({ code: 'engine-failed' }))
    expect(() => supervisor.steer({ type: 'cancel', id: 'r' })).not.toThrow()
  })

  test('a stopped supervisor can start a worker again', async () => {
    await load()
    await supervisor.stop()
    await load()
    expect(workers.started).toHaveLength(2)
  })
})
