import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { runOf } from '../../../test/support/http/iterate.ts'
import { audio, image } from '../../../test/support/parts.ts'
import type { Engine, EngineState } from '../../contract/engine.ts'
import type { EngineEvent } from '../../contract/event.ts'
import { type ContentPart, type GenerationRequest, plainChat, plainRequest } from '../../contract/request.ts'
import { Cancellations } from '../../core/cancel/cancellations.ts'
import { createFakeEngine } from './engine.ts'

const never = new AbortController().signal

function request(script: unknown, more: Partial<GenerationRequest> = {}): GenerationRequest {
  const text = typeof script === 'string' ? script : JSON.stringify(script)
  return {
    ...plainRequest,
    id: 'r1',
    model: 'fake',
    prompt: { type: 'chat', messages: [{ role: 'user', content: [{ type: 'text', text }] }], ...plainChat },
    ...more,
  }
}

async function play(asked: GenerationRequest, options: { engine?: Engine; signal?: AbortSignal } = {}) {
  const { engine = createFakeEngine({ script: 'from-request' }), signal = never } = options
  const events: EngineEvent[] = []
  const prepared = await engine.prepare(asked, signal)
  try {
    for await (const event of runOf(prepared, signal)) events.push(event)
  } catch (error) {
    return { events, error, ...summary(events) }
  }
  return { events, error: undefined, ...summary(events) }
}

function summary(events: readonly EngineEvent[]) {
  const finish = events.find((event) => event.type === 'finish')
  const usage = events.find((event) => event.type === 'usage')
  return {
    text: events.map((event) => (event.type === 'raw-text' ? event.text : '')).join(''),
    finish: finish && { reason: finish.reason, ...(finish.stopSequence !== undefined && { stop: finish.stopSequence }) },
    usage: usage?.usage,
  }
}

describe('the fake engine', () => {
  test('the fake engine reports when the prompt is read, then the text, the finish and the usage', async () => {
    const { events, usage } = await play(request({ chunks: ['a', 'b'] }))
    expect(events.map((event) => event.type)).toEqual(['prompt-read', 'raw-text', 'raw-text', 'finish', 'usage'])
    expect(usage).toEqual({ inputTokens: 1, cachedInputTokens: 0, outputTokens: 2, reasoningTokens: 0 })
  })

  test('the fake engine echoes a message that is not a script, and counts the words of the prompt', async () => {
    expect(await play(request('say this  back'))).toMatchObject({
      text: 'say this  back',
      usage: { inputTokens: 3, outputTokens: 3 },
    })
  })

  test('a reply finishes as its script says', async () => {
    expect(await play(request({ raw: 'cut', finish: 'length' }))).toMatchObject({ finish: { reason: 'length' } })
  })

  test('an empty reply is a reply', async () => {
    const { events, text } = await play(request({ raw: '' }))
    expect(text).toBe('')
    expect(events.map((event) => event.type)).toEqual(['prompt-read', 'finish', 'usage'])
  })

  test.each([
    [2, 9, 'abc'],
    [5, 9, 'abcab'],
    [8, 8, 'abcabcab'],
  ])('between %i and %i tokens, the reply is %j', async (minOutputTokens, maxOutputTokens, text) => {
    expect(await play(request({ chunks: ['a', 'b', 'c'] }, { minOutputTokens, maxOutputTokens }))).toMatchObject({ text })
  })

  test('tokens of the prompt are reported where they are wanted, also without a reply', async () => {
    const asked = { ...request(''), prompt: { type: 'text', text: ' one two ' }, maxOutputTokens: 0 } as const
    const { events, usage } = await play({ ...asked, promptTokens: { logprobs: { top: 1 } } })
    expect(events.map((event) => event.type)).toEqual(['prompt-tokens', 'prompt-read', 'finish', 'usage'])
    const second = { id: 1, text: ' two ', bytes: [...Buffer.from(' two ')], logprob: 0 }
    expect(events[0]).toEqual({
      type: 'prompt-tokens',
      choice: 0,
      promptTokens: [
        { id: 0, text: ' one', bytes: [...Buffer.from(' one')], top: [] },
        { ...second, top: [second] },
      ],
    })
    expect(usage).toMatchObject({ inputTokens: 2, outputTokens: 0 })
  })

  test('infill is refused by name', async () => {
    const asked = { ...request(''), prompt: { type: 'infill', prefix: 'a', suffix: 'b' } } as const
    await expect(play(asked)).rejects.toMatchObject({ code: 'unsupported-field', at: ['prompt', 'suffix'] })
  })

  test.each([2, 3])('%i output tokens are the limit, so the finish is length', async (maxOutputTokens) => {
    const { text, finish, usage } = await play(request({ chunks: ['a', 'b', 'c'] }, { maxOutputTokens }))
    expect(text).toBe('abc'.slice(0, maxOutputTokens))
    expect(finish).toEqual({ reason: 'length' })
    expect(usage?.outputTokens).toBe(maxOutputTokens)
  })

  test('a stop sequence that is split between chunks ends the output and never shows', async () => {
    const { text, finish, usage } = await play(request({ chunks: ['one E', 'N', 'D two', 'three'] }, { stop: ['END'] }))
    expect(text).toBe('one ')
    expect(finish).toEqual({ reason: 'stop', stop: 'END' })
    expect(usage?.outputTokens).toBe(3)
  })

  test('text that only begins like a stop sequence appears in the end', async () => {
    expect(await play(request({ chunks: ['one ', 'EN'] }, { stop: ['END'] }))).toMatchObject({
      text: 'one EN',
      finish: { reason: 'stop' },
    })
  })

  test.each([
    [0, ''],
    [1, 'a'],
    [2, 'ab'],
  ])('a reply fails after %i chunks', async (failAfter, text) => {
    const result = await play(request({ chunks: ['a', 'b'], failAfter }))
    expect(result).toMatchObject({ text, error: { code: 'engine-failed' }, finish: undefined })
    if (failAfter === 0) expect(result.events).toEqual([])
  })

  test('output that ignores the end of the turn repeats the script up to the limit', async () => {
    expect(await play(request({ chunks: ['a', 'b'] }, { ignoreEos: true, maxOutputTokens: 5 }))).toMatchObject({
      text: 'ababa',
      finish: { reason: 'length' },
    })
    await expect(play(request({ chunks: ['a'] }, { ignoreEos: true }))).rejects.toMatchObject({ code: 'invalid-request' })
  })

  test('the context is a limit on prompt and output together', async () => {
    const engine = createFakeEngine({ script: 'from-request', contextLength: 5 })
    expect(engine.facts).toMatchObject({ contextLength: 5 })
    expect(await play(request('one two three'), { engine })).toMatchObject({
      text: 'one two',
      finish: { reason: 'context-full' },
    })
    await expect(play(request('one two three four five'), { engine })).rejects.toMatchObject({
      code: 'context-length-exceeded',
      overflow: { inputTokens: 5, contextLength: 5 },
    })
    await expect(play(request('one two', { maxOutputTokens: 4 }), { engine })).rejects.toMatchObject({
      code: 'context-length-exceeded',
      overflow: { inputTokens: 2, outputTokens: 4, contextLength: 5 },
    })
  })

  test('a cancel ends a delay immediately, with the reason of the cancel', async () => {
    const running = new Cancellations().open({ id: 'r1', owner: 'anyone' })
    const { signal } = running
    setImmediate(() => running.cancel('client-gone'))
    const { error } = await play(request({ raw: 'late', delayMs: 3_000_000 }), { signal })
    expect(error).toBe(signal.reason)
  })

  test('a long reply without delays leaves room for other work, and stops when cancelled', async () => {
    const running = new Cancellations().open({ id: 'r1', owner: 'anyone' })
    const { signal } = running
    setImmediate(() => running.cancel('client-gone'))
    const { error, events } = await play(request('x', { ignoreEos: true, maxOutputTokens: 10_000_000 }), { signal })
    expect(error).toBe(signal.reason)
    expect(events.length).toBeLessThan(1000)
  })

  test('closing the engine ends its runs', async () => {
    const engine = createFakeEngine({ script: 'from-request' })
    const prepared = await engine.prepare(request({ raw: 'late', delayMs: 3_000_000 }), never)
    const first = runOf(prepared, never).next()
    await engine.close()
    await expect(first).rejects.toMatchObject({ code: 'model-unavailable' })
    expect(engine.state).toEqual({ type: 'stopped' })
  })
})

describe("the fake engine's chat template", () => {
  const withTemplate = async (source: string) => {
    const path = join(await mkdtemp(join(tmpdir(), 'dragoman-fake-')), 'chat.jinja')
    await writeFile(path, source)
    return createFakeEngine({ script: 'from-request', chatTemplate: path })
  }

  test('a conversation that the template refuses is refused, as on a real model', async () => {
    const engine = await withTemplate("{{ raise_exception('no thanks') }}")
    await expect(engine.prepare(request({ raw: 'x' }), never)).rejects.toMatchObject({ code: 'template-failed' })
  })

  test('a model without a template can return to none after a switch, and after an unload', async () => {
    const engine = createFakeEngine({ script: 'from-request' })
    const { templates } = engine.capabilities
    for (const choice of [{ type: 'named', name: 'odd', source: "{{ raise_exception('no') }}" }, { type: 'none' }] as const) {
      await templates?.use(choice, never)
      await expect(engine.prepare(request({ raw: 'x' }), never)).rejects.toMatchObject({ code: 'template-failed' })
      expect(engine.facts.hasOwnTemplate).toBe(true)
      await templates?.use({ type: 'own' }, never)
      expect(await play(request({ raw: 'x' }), { engine })).toMatchObject({ text: 'x', error: undefined })
    }
  })

  test('a template that does not parse fails the load', async () => {
    const engine = await withTemplate('{% for %}')
    await expect(engine.ensureReady(never)).rejects.toMatchObject({ code: 'template-failed' })
    expect(engine.state.type).toBe('failed')
  })
})

describe('loading the fake engine', () => {
  test('the engine is stopped until someone needs it, then ready', async () => {
    const engine = createFakeEngine({ script: 'from-request' })
    expect(engine.state).toEqual({ type: 'stopped' })
    await engine.ensureReady(never)
    expect(engine.state).toEqual({ type: 'ready' })
  })

  test('a script file answers by pattern', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'dragoman-fake-'))
    const file = join(directory, 'script.yaml')
    await writeFile(file, '[{ match: "my name is (.*)", reply: { raw: "Hello $1" } }]')
    const engine = createFakeEngine({ script: file })
    expect(await play(request('my name is Ada'), { engine })).toMatchObject({ text: 'Hello Ada' })
  })

  test.each([
    [{ script: '/nowhere/script.yaml' }, "script '/nowhere/script.yaml'"],
    [{ script: 'from-request', chatTemplate: '/nowhere/chat.jinja' }, "chat template '/nowhere/chat.jinja'"],
  ])('a file that cannot be read makes the model unavailable: %j', async (options, name) => {
    const engine = createFakeEngine(options)
    await expect(engine.ensureReady(never)).rejects.toMatchObject({
      code: 'model-unavailable',
      message: expect.stringContaining(name),
    })
    expect(engine.state).toMatchObject({ type: 'failed', reason: expect.stringContaining('there is no such file') })
  })

  test('a file that appears later is found at the next try', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'dragoman-fake-'))
    const file = join(directory, 'script.yaml')
    const engine = createFakeEngine({ script: file })
    await expect(engine.ensureReady(never)).rejects.toThrow()
    await writeFile(file, '[{ reply: { raw: hi } }]')
    await engine.ensureReady(never)
    expect(engine.state).toEqual({ type: 'ready' })
  })
})

describe("an observer of the fake engine's state", () => {
  test('an observer hears of every change in order, until it unsubscribes', async () => {
    const engine = createFakeEngine({ script: 'from-request' })
    const [heard, late]: EngineState[][] = [[], []]
    const leave = engine.onState((state) => {
      heard?.push(state)
      expect(engine.state).toBe(state)
    })
    await engine.ensureReady(never)
    const loaded = [{ type: 'loading', progress: 0 }, { type: 'ready' }]
    expect(heard).toEqual(loaded)
    engine.onState((state) => late?.push(state))
    await engine.unload({ drainMs: 0 })
    const unloaded = [{ type: 'draining' }, { type: 'stopped' }]
    expect(heard).toEqual([...loaded, ...unloaded])
    leave()
    await engine.ensureReady(never)
    expect(heard).toHaveLength(4)
    expect(late).toEqual([...unloaded, ...loaded])
  })

  test('an observer hears of a failure', async () => {
    const engine = createFakeEngine({ script: '/nowhere/script.yaml' })
    const heard: EngineState[] = []
    engine.onState((state) => heard.push(state))
    await expect(engine.ensureReady(never)).rejects.toThrow()
    expect(heard.at(-1)).toMatchObject({ type: 'failed', reason: expect.stringContaining('there is no such file') })
  })
})

describe('unloading the fake engine', () => {
  const start = async (engine: Engine, script: unknown) => {
    const events = runOf(await engine.prepare(request(script), never), never)
    const first = await events.next()
    expect(first.value?.type).toBe('prompt-read')
    return events
  }

  test('unloading lets running requests end, and accepts no new ones meanwhile', async () => {
    const engine = createFakeEngine({ script: 'from-request' })
    const events = await start(engine, { chunks: ['a', 'b'], delayMs: 5 })
    let isUnloaded = false
    const unloading = engine.unload({ drainMs: 60_000 }).then(() => {
      isUnloaded = true
    })
    expect(engine.state).toEqual({ type: 'draining' })
    await expect(engine.prepare(request('x'), never)).rejects.toMatchObject({ code: 'shutting-down' })
    await expect(engine.ensureReady(never)).rejects.toMatchObject({ code: 'shutting-down' })
    const types: string[] = []
    for await (const { type } of events) types.push(type)
    expect(types).toEqual(['raw-text', 'raw-text', 'finish', 'usage'])
    await unloading
    expect(isUnloaded).toBe(true)
    expect(engine.state).toEqual({ type: 'stopped' })
  })

  test('unloading fails requests that run longer than allowed', async () => {
    const engine = createFakeEngine({ script: 'from-request' })
    const prepared = await engine.prepare(request({ raw: 'late', delayMs: 3_000_000 }), never)
    const running = runOf(prepared, never).next()
    running.catch(() => undefined)
    await engine.unload({ drainMs: 1 })
    await expect(running).rejects.toMatchObject({ code: 'model-unavailable' })
    expect(engine.state).toEqual({ type: 'stopped' })
  })

  test('an unloaded engine loads again', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'dragoman-fake-'))
    const file = join(directory, 'script.yaml')
    await writeFile(file, '[{ reply: { raw: before } }]')
    const engine = createFakeEngine({ script: file })
    expect(await play(request('x'), { engine })).toMatchObject({ text: 'before' })
    await engine.unload({ drainMs: 0 })
    await writeFile(file, '[{ reply: { raw: after } }]')
    await engine.ensureReady(never)
    expect(engine.state).toEqual({ type: 'ready' })
    expect(await play(request('x'), { engine })).toMatchObject({ text: 'after' })
  })

  test('an engine that was never loaded can be unloaded', async () => {
    const engine = createFakeEngine({ script: 'from-request' })
    await engine.unload({ drainMs: 60_000 })
    expect(engine.state).toEqual({ type: 'stopped' })
  })
})

describe('media, on the fake engine', () => {
  const picture = image('iVBORw0KGgo=')
  const seen = '[image image/png 8 bytes sha256:4c4b6a3be131]'
  const asking = (...content: readonly ContentPart[]) => ({
    ...request(''),
    prompt: { type: 'chat', messages: [{ role: 'user', content }], ...plainChat } as const,
  })

  test('media are described in their places in the echo', async () => {
    const asked = asking({ type: 'text', text: 'a ' }, { ...picture, detail: 'low' }, { type: 'text', text: ' b' }, audio('AAAA'))
    const { text: echo } = await play(asked)
    expect(echo).toMatch(
      /^a \[image image\/png 8 bytes detail:low sha256:[\da-f]{12}\] b\[audio audio\/wav 3 bytes sha256:[\da-f]{12}\]$/,
    )
  })

  test('media are matched by scripts, also in the results of tools', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'dragoman-fake-'))
    const file = join(folder, 'script.yaml')
    await writeFile(
      file,
      "[{ result: '(image/\\w+)', reply: { raw: 'The tool showed $1.' } }, { match: 'image', reply: { raw: seen } }]",
    )
    const engine = createFakeEngine({ script: file })
    expect(await play(asking(picture), { engine })).toMatchObject({ text: 'seen' })
    const messages = [{ role: 'tool', toolCallId: 'c', content: [picture] }] as const
    const asked = { ...request(''), prompt: { type: 'chat', messages, ...plainChat } } as const
    expect(await play(asked, { engine })).toMatchObject({ text: 'The tool showed image/png.' })
  })

  test('media leave a script beside them unchanged', async () => {
    expect(await play(asking({ type: 'text', text: '{"raw":"hi"}' }, picture))).toMatchObject({ text: 'hi' })
  })

  test('media count as the words of their description', async () => {
    expect(await play(asking(picture))).toMatchObject({ text: seen, usage: { inputTokens: seen.split(' ').length } })
  })
})
