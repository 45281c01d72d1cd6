import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Engine } from '../src/core/engine.ts'
import { AppError } from '../src/core/errors.ts'
import type { EngineEvent, FinishReason, Usage } from '../src/core/event.ts'
import { type GenerationRequest, type Message, plainChat, plainRequest } from '../src/core/request.ts'

export type ContractOptions = {
  /** A new engine with a small context (at most 4096 tokens) and at least four slots. */
  readonly create: () => Promise<Engine>
  /** A user message that the engine answers with at least 200 tokens when it may not end its turn. */
  readonly longPrompt: string
}

type Outcome = { text: string; reason: FinishReason | undefined; stopSequence: string | undefined; usage: Usage | undefined }

let count = 0
export function chatRequest(text: string, options: Partial<GenerationRequest> = {}): GenerationRequest {
  const message: Message = { role: 'user', content: [{ type: 'text', text }] }
  return {
    ...plainRequest,
    id: `contract-${++count}`,
    model: 'm',
    prompt: { type: 'chat', messages: [message], ...plainChat },
    sampling: { temperature: 0 },
    ignoreEos: true,
    ...options,
  }
}

const never = new AbortController().signal

export async function complete(engine: Engine, request: GenerationRequest, signal = never): Promise<Outcome> {
  const outcome: Outcome = { text: '', reason: undefined, stopSequence: undefined, usage: undefined }
  for await (const event of (await engine.prepare(request, signal)).run(signal)) {
    if (event.type === 'raw-text' || event.type === 'text-delta')
      outcome.text += event.type === 'raw-text' ? event.text : event.delta
    if (event.type === 'finish') Object.assign(outcome, { reason: event.reason, stopSequence: event.stopSequence })
    if (event.type === 'usage') outcome.usage = event.usage
  }
  return outcome
}

/** What every engine must do, whatever runs behind it. */
export function describeEngineContract(name: string, { create, longPrompt }: ContractOptions): void {
  describe(`engine contract: ${name}`, () => {
    let engine: Engine
    beforeAll(async () => {
      engine = await create()
      await engine.ensureReady(never)
    })
    afterAll(() => engine.close())

    test('a ready engine says so', () => {
      expect(engine.state).toEqual({ type: 'ready' })
    })

    test('events come in order: prompt-read, text, finish, usage, and nothing after it', async () => {
      const prepared = await engine.prepare(chatRequest(longPrompt, { maxOutputTokens: 5 }), never)
      const events: EngineEvent[] = []
      for await (const event of prepared.run(never)) events.push(event)
      const types = events.map((event) => event.type).filter((type, index, all) => type !== all[index - 1])
      expect(types.filter((type) => type !== 'prompt-read')).toEqual(['raw-text', 'finish', 'usage'])
      expect(types.indexOf('prompt-read')).toBeLessThanOrEqual(0)
    })

    test('the token limit ends with length, and is never exceeded', async () => {
      const outcome = await complete(engine, chatRequest(longPrompt, { maxOutputTokens: 7 }))
      expect(outcome).toMatchObject({ reason: 'length', usage: { outputTokens: 7 } })
    })

    test('usage counts the prompt that was announced', async () => {
      const prepared = await engine.prepare(chatRequest(longPrompt, { maxOutputTokens: 2 }), never)
      const usages: Usage[] = []
      for await (const event of prepared.run(never)) if (event.type === 'usage') usages.push(event.usage)
      expect(usages).toHaveLength(1)
      if (prepared.inputTokens !== undefined) expect(usages[0]?.inputTokens).toBe(prepared.inputTokens)
      expect(usages[0]?.inputTokens).toBeGreaterThan(0)
    })

    test('a stop string ends the text before it, and no part of it leaks', async () => {
      const whole = await complete(engine, chatRequest(longPrompt, { maxOutputTokens: 60 }))
      const start = Math.floor(whole.text.length / 2)
      const stop = whole.text.slice(start, start + 6)
      const cut = await complete(engine, chatRequest(longPrompt, { maxOutputTokens: 60, stop: [stop] }))
      expect(cut).toMatchObject({ reason: 'stop', stopSequence: stop })
      expect(cut.text).toBe(whole.text.slice(0, whole.text.indexOf(stop)))
    })

    test('a request that is cancelled while it generates ends with the reason, and the next one works', async () => {
      const controller = new AbortController()
      const reason = new AppError('cancelled', 'enough')
      const prepared = await engine.prepare(chatRequest(longPrompt, { maxOutputTokens: 200 }), controller.signal)
      const run = async () => {
        for await (const event of prepared.run(controller.signal)) if (event.type === 'raw-text') controller.abort(reason)
      }
      await expect(run()).rejects.toBe(reason)
      expect(await complete(engine, chatRequest(longPrompt, { maxOutputTokens: 3 }))).toMatchObject({ reason: 'length' })
    })

    test('a reader that leaves early has stopped the work when its iteration has ended', async () => {
      const prepared = await engine.prepare(chatRequest(longPrompt, { maxOutputTokens: 200 }), never)
      for await (const event of prepared.run(never)) if (event.type === 'raw-text') break
      const outcomes = await Promise.all(
        [1, 2, 3, 4].map(() => complete(engine, chatRequest(longPrompt, { maxOutputTokens: 4 }))),
      )
      expect(outcomes.map((outcome) => outcome.reason)).toEqual(['length', 'length', 'length', 'length'])
    })

    test('a request that was cancelled before it began does no work', async () => {
      const controller = new AbortController()
      const prepared = await engine.prepare(chatRequest(longPrompt), never)
      controller.abort(new AppError('cancelled', 'gone'))
      await expect(prepared.run(controller.signal)[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: 'cancelled' })
      await expect(engine.prepare(chatRequest(longPrompt), controller.signal)).rejects.toMatchObject({ code: 'cancelled' })
    })

    test('requests run side by side, each with its own text', async () => {
      const requests = () => [4, 8, 12, 16].map((maxOutputTokens) => chatRequest(longPrompt, { maxOutputTokens }))
      const alone: string[] = []
      for (const request of requests()) alone.push((await complete(engine, request)).text)
      const together = await Promise.all(requests().map((request) => complete(engine, request)))
      expect(together.map((outcome) => outcome.text)).toEqual(alone)
    })

    test('a slow reader loses nothing', async () => {
      const whole = await complete(engine, chatRequest(longPrompt, { maxOutputTokens: 150 }))
      const prepared = await engine.prepare(chatRequest(longPrompt, { maxOutputTokens: 150 }), never)
      let text = ''
      let events = 0
      for await (const event of prepared.run(never)) {
        if (event.type !== 'raw-text') continue
        text += event.text
        events += 1
        if (events % 50 === 1) await sleep(50)
      }
      expect(text).toBe(whole.text)
    })

    test('a closed engine starts again when it is asked to be ready', async () => {
      await engine.close()
      expect(engine.state).toEqual({ type: 'stopped' })
      expect(await complete(engine, chatRequest(longPrompt, { maxOutputTokens: 3 }))).toMatchObject({ reason: 'length' })
    })

    test('a request beyond the context is refused before it runs, with both numbers', async () => {
      const { contextLength } = engine.facts
      if (contextLength === undefined) throw new Error('the contract needs an engine with a known context length')
      const tooLong = engine.prepare(chatRequest(longPrompt, { maxOutputTokens: contextLength }), never)
      const error = await tooLong.catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ code: 'context-length-exceeded', overflow: { contextLength, outputTokens: contextLength } })
      const { message, overflow } = error as AppError
      expect(message).toContain(String(contextLength))
      expect(message).toContain(String(overflow?.inputTokens))
    })
  })
}
