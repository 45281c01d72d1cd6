import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { runOf } from '../../../test/support/http/iterate.ts'
import { capability } from '../../../test/support/llama/capability.ts'
import { FakeWorkers, ready } from '../../../test/support/llama/fake-workers.ts'
import type { EngineState, PreparedGeneration } from '../../contract/engine.ts'
import { type GenerationRequest, plainChat, plainRequest } from '../../contract/request.ts'
import type { Command, Report } from './channel/ipc.ts'
import { machineMs } from './channel/machine-clock.ts'
import { LlamaEngine } from './engine.ts'

const never = new AbortController().signal
const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined }
const timeoutMs = 3000
const readyWithTemplate: Report = { ...ready, chatTemplate: 'own' }
const other = { type: 'named', name: 'other', source: '{{ x }}' } as const

describe('LlamaEngine', () => {
  let workers: FakeWorkers
  let engine: LlamaEngine

  beforeEach(async () => {
    vi.useFakeTimers()
    workers = new FakeWorkers()
    const locate = async () => ({ modelPath: 'm.gguf', slots: 1, flashAttention: true })
    engine = new LlamaEngine({ id: 'm', locate, log: quiet, spawn: workers.spawn, prepareTimeoutMs: timeoutMs })
    const waiting = engine.ensureReady(never)
    await turn()
    report(readyWithTemplate)
    await waiting
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  const turn = () => vi.advanceTimersByTimeAsync(0)
  const report = (message: Report) => workers.last.handlers.onReport(message)
  const commands = <T extends Command['type']>(type: T) =>
    workers.last.commands.filter((command): command is Extract<Command, { type: T }> => command.type === type)
  const asked = () => commands('prepare').map(({ id }) => id)
  const request = (id: string): GenerationRequest => ({
    ...plainRequest,
    id,
    model: 'm',
    prompt: { type: 'chat', ...plainChat, messages: [] },
  })
  const prepare = (id: string, signal = new AbortController().signal) => engine.prepare(request(id), signal)
  const answer = async (id: string) => {
    report({ type: 'prepared', id, tokens: Uint32Array.of(1), templateMs: 0, reasoningFront: 'never' })
    await turn()
  }
  const prepared = async (id: string): Promise<PreparedGeneration> => {
    const preparing = prepare(id)
    await turn()
    await answer(id)
    return preparing
  }
  const failSwitch = () => {
    const { id } = commands('use-template')[0] as { id: string }
    report({ type: 'failed', id, failure: { code: 'template-failed', message: 'it is broken' } })
  }
  const settled = (promise: Promise<unknown>) =>
    promise.then(
      () => 'answered',
      (error: { code: string }) => error.code,
    )

  test('a worker that answers one request after the other is not hung, however many wait', async () => {
    const ids = Array.from({ length: 12 }, (_, index) => `r${index}`)
    const outcomes = ids.map((id) => settled(prepare(id)))
    await turn()
    for (const id of ids) {
      expect(asked().at(-1)).toBe(id)
      await vi.advanceTimersByTimeAsync(timeoutMs - 1)
      await answer(id)
    }
    expect(await Promise.all(outcomes)).toEqual(ids.map(() => 'answered'))
    expect(workers.started).toHaveLength(1)
  })

  test('a worker that hangs fails the current question; the others go to the next worker', async () => {
    const outcomes = ['endless', 'innocent'].map((id) => settled(prepare(id)))
    await vi.advanceTimersByTimeAsync(timeoutMs + 100)
    expect(workers.started).toHaveLength(2)
    report(readyWithTemplate)
    await turn()
    expect(asked()).toEqual(['innocent'])
    await answer('innocent')
    expect(await Promise.all(outcomes)).toEqual(['template-failed', 'answered'])
  })

  test('the process with the model loaded reports the memory of GPUs, also while another question waits', async () => {
    const { read } = capability(engine, 'devices')
    void settled(prepare('waits'))
    const reading = read(never)
    await turn()
    const device = { name: 'CUDA0', description: 'A GPU', freeBytes: 3, totalBytes: 4 }
    report({ type: 'answered', id: commands('ask')[0]?.id ?? '', reply: { type: 'devices', devices: [device] } })
    expect(await reading).toEqual([device])
    await engine.close()
    expect(await read(never)).toEqual([])
    expect(workers.started).toHaveLength(1)
  })

  test('nothing is prepared for a caller that left before its turn', async () => {
    const leaving = new AbortController()
    const first = prepare('first')
    const outcomes = [settled(prepare('left', leaving.signal)), settled(prepare('last'))]
    await turn()
    leaving.abort(Object.assign(new Error(), { code: 'gone' }))
    await answer('first')
    await first
    await answer('last')
    expect(await Promise.all(outcomes)).toEqual(['gone', 'answered'])
    expect(asked()).toEqual(['first', 'last'])
  })

  test('closing the engine while it waits for an answer starts no other worker', async () => {
    const questions = [prepare('a'), prepare('b'), capability(engine, 'templates').use(other, never)]
    const outcomes = questions.map(settled)
    await turn()
    await engine.close()
    expect(await Promise.all(outcomes)).toEqual(['engine-failed', 'shutting-down', 'shutting-down'])
    expect(engine.state).toEqual({ type: 'stopped' })
    expect(workers.started).toHaveLength(1)
  })

  test('closing the engine during a template switch starts no other worker', async () => {
    const switching = settled(capability(engine, 'templates').use(other, never))
    await turn()
    await engine.close()
    expect(await switching).toBe('engine-failed')
    expect(workers.started).toHaveLength(1)
  })

  test('a template switch that fails changes nothing for prepared requests', async () => {
    const before = await prepared('r')
    const switching = settled(capability(engine, 'templates').use(other, never))
    await turn()
    const running = settled(runOf(before, never).next())
    await turn()
    expect(commands('run')).toEqual([])
    failSwitch()
    await turn()
    expect(await switching).toBe('template-failed')
    expect(commands('run')).toMatchObject([{ id: 'r' }])
    expect(engine.facts).toMatchObject({ chatTemplate: 'own' })
    await engine.close()
    expect(await running).toBe('engine-failed')
  })

  test('a template switch that succeeds refuses requests prepared with the earlier template', async () => {
    const before = await prepared('r')
    const switching = capability(engine, 'templates').use(other, never)
    await turn()
    report({ type: 'template-used', id: commands('use-template')[0]?.id ?? '' })
    await switching
    expect(await settled(runOf(before, never).next())).toBe('request-conflict')
    expect(await settled(runOf(await prepared('next'), AbortSignal.abort(new Error())).next())).not.toBe('request-conflict')
  })

  const start = async (id: string) => {
    const events = runOf(await prepared(id), never)
    const first = events.next()
    await turn()
    report({ type: 'prompt-read', id, cachedTokens: 0, cachedIn: 'slot', prefillMs: 1 })
    expect((await first).value).toMatchObject({ type: 'prompt-read' })
    return events
  }

  test.each([
    ['once more where another process killed its worker', {}, 'once more'],
    ['not again where it may have crashed its worker', { description: 'killed by SIGSEGV', fromOutside: false }, 'engine-failed'],
  ])('a run without output yet runs %s', async (_what, exit, outcome) => {
    const events = runOf(await prepared('r'), never)
    const first = settled(events.next())
    await turn()
    expect(commands('run')).toHaveLength(1)
    workers.last.exit(exit)
    await vi.advanceTimersByTimeAsync(100)
    expect(workers.started).toHaveLength(2)
    report(readyWithTemplate)
    await turn()
    expect(commands('run')).toHaveLength(outcome === 'once more' ? 1 : 0)
    if (outcome === 'once more') report({ type: 'prompt-read', id: 'r', cachedTokens: 0, cachedIn: 'slot', prefillMs: 1 })
    expect(await first).toBe(outcome === 'once more' ? 'answered' : outcome)
    await engine.close()
  })

  describe('a run that has given text, and whose worker another process killed', () => {
    const say = (text: string) => report({ type: 'text', id: 'r', choice: 0, text, madeMs: machineMs() })
    const begin = async () => {
      const events = await start('r')
      const first = events.next()
      say('one ')
      expect((await first).value).toMatchObject({ type: 'raw-text', text: 'one ' })
      const [{ sampling }] = commands('run') as [Extract<Command, { type: 'run' }>]
      const next = events.next()
      const outcome = settled(next)
      workers.last.exit({})
      await vi.advanceTimersByTimeAsync(100)
      report(readyWithTemplate)
      await turn()
      return { next, outcome, sampling }
    }

    test('is generated again with its seed, and continues where it was', async () => {
      const { next, sampling } = await begin()
      expect(commands('run')).toMatchObject([{ id: 'r', sampling: { seed: sampling.seed } }])
      report({ type: 'prompt-read', id: 'r', cachedTokens: 0, cachedIn: 'slot', prefillMs: 1 })
      say('one ')
      say('two')
      expect((await next).value).toMatchObject({ type: 'raw-text', text: 'two' })
      await engine.close()
    })

    test('fails where the text is another one', async () => {
      const { outcome } = await begin()
      say('three')
      await turn()
      expect(commands('cancel')).toMatchObject([{ id: 'r' }])
      report({ type: 'done', id: 'r', cancelled: true, outputTokens: 1, reasoningTokens: 0, decodeMs: 1 })
      expect(await outcome).toBe('engine-failed')
    })
  })

  test('after a cancel, only later tokens count as late', async () => {
    const leaving = new AbortController()
    const events = runOf(await prepared('r'), leaving.signal)
    const first = settled(events.next())
    await turn()
    leaving.abort(Object.assign(new Error(), { code: 'gone' }))
    const text = { type: 'text', id: 'r', choice: 0, text: 'x' } as const
    report({ ...text, madeMs: machineMs() - 1000 })
    report({ ...text, madeMs: machineMs() + 1000 })
    report({ type: 'done', id: 'r', cancelled: true, outputTokens: 2, reasoningTokens: 0, decodeMs: 1 })
    expect(await first).not.toBe('answered')
    expect(engine.tokensAfterCancel).toBe(1)
  })

  test.each<[string, () => Promise<(signal: AbortSignal) => Promise<unknown>>]>([
    [
      'a run',
      async () => {
        const ready = await prepared('r')
        return (signal) => runOf(ready, signal).next()
      },
    ],
    ['an embedding', async () => (signal) => capability(engine, 'embedder').embed([{ type: 'text', text: 'x' }], signal)],
  ])('%s that the worker does not stop ends with it after ten minutes, and another worker takes the next', async (_, begin) => {
    const leaving = new AbortController()
    const work = await begin()
    const outcome = settled(work(leaving.signal))
    await turn()
    leaving.abort(Object.assign(new Error(), { code: 'gone' }))
    for (let minute = 0; minute < 10; minute++) {
      report({ type: 'pong' })
      await vi.advanceTimersByTimeAsync(59_000)
    }
    expect(workers.started).toHaveLength(1)
    report({ type: 'pong' })
    await vi.advanceTimersByTimeAsync(11_000)
    expect(await outcome).toBe('engine-failed')
    expect(workers.started).toHaveLength(2)
    report(readyWithTemplate)
    expect(await settled(prepared('next'))).toBe('answered')
  })

  test('an unload lets running requests end, and accepts no new ones meanwhile', async () => {
    const heard: EngineState['type'][] = []
    engine.onState(({ type }) => heard.push(type))
    const events = await start('r')
    const unloading = settled(engine.unload({ drainMs: 10_000 }))
    await turn()
    expect(engine.state).toEqual({ type: 'draining' })
    expect(await settled(prepare('late'))).toBe('shutting-down')
    const rest = settled(
      (async () => {
        for await (const _ of events);
      })(),
    )
    await vi.advanceTimersByTimeAsync(9000)
    report({ type: 'choice-done', id: 'r', choice: 0, reason: 'stop' })
    report({ type: 'done', id: 'r', cancelled: false, outputTokens: 1, reasoningTokens: 0, decodeMs: 1 })
    expect(await rest).toBe('answered')
    expect(await unloading).toBe('answered')
    expect(heard).toEqual(['draining', 'stopped'])
    expect(workers.started).toHaveLength(1)
  })

  test('an unload ends requests that run longer than allowed, with the worker', async () => {
    const events = await start('r')
    const next = settled(events.next())
    const unloading = settled(engine.unload({ drainMs: 1000 }))
    await vi.advanceTimersByTimeAsync(999)
    expect(engine.state).toEqual({ type: 'draining' })
    await vi.advanceTimersByTimeAsync(1)
    expect(await unloading).toBe('answered')
    expect(await next).toBe('engine-failed')
    expect(engine.state).toEqual({ type: 'stopped' })
    // Nothing is restarted by itself.
    await vi.advanceTimersByTimeAsync(60_000)
    expect(workers.started).toHaveLength(1)
  })

  test('an unloaded model loads again on request, and announces it', async () => {
    await engine.unload({ drainMs: 1000 })
    const heard: EngineState['type'][] = []
    const leave = engine.onState(({ type }) => heard.push(type))
    const waiting = settled(engine.ensureReady(never))
    await turn()
    expect(workers.started).toHaveLength(2)
    report({ type: 'loading', progress: 0.5 })
    expect(engine.state).toEqual({ type: 'loading', progress: 0.5 })
    report(readyWithTemplate)
    expect(await waiting).toBe('answered')
    expect(heard).toEqual(['starting', 'loading', 'loading', 'ready'])
    leave()
    expect(await settled(prepared('again'))).toBe('answered')
    // Its grammar is compiled by threads of the new life.
    const constrained = settled(engine.prepare({ ...request('json'), output: { type: 'json-object' } }, never))
    await turn()
    await answer('json')
    await expect.poll(() => constrained).toBe('answered')
    workers.last.exit({})
    await turn()
    expect(engine.state).toMatchObject({ type: 'failed', reason: 'killed by SIGKILL' })
    expect(heard).toHaveLength(4)
  })
})
