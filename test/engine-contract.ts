import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Engine, PreparedGeneration } from '../src/contract/engine.ts'
import { AppError } from '../src/contract/errors.ts'
import type { EngineEvent, FinishReason, GeneratedToken, Usage } from '../src/contract/event.ts'
import { type GenerationRequest, type Message, plainChat, plainRequest } from '../src/contract/request.ts'
import { runOf } from './support/http/iterate.ts'

export type ContractOptions = {
  /** A new engine with a small context (at most 4096 tokens) and at least four slots. */
  readonly create: () => Promise<Engine>
  /** A user message that the engine answers with at least 200 tokens when it may not end its turn. */
  readonly longPrompt: string
  /** What no request to the engine's upstream can express; it has to be refused by name. */
  readonly lacks?: readonly ('ignoreEos' | 'logprobs')[]
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
  for await (const event of runOf(await engine.prepare(request, signal), signal)) {
    if (event.type === 'raw-text' || event.type === 'text-delta')
      outcome.text += event.type === 'raw-text' ? event.text : event.delta
    if (event.type === 'finish') Object.assign(outcome, { reason: event.reason, stopSequence: event.stopSequence })
    if (event.type === 'usage') outcome.usage = event.usage
  }
  return outcome
}

export type Choice = { text: string; tokens: GeneratedToken[]; finishes: FinishReason[] }

/** Every choice of a request, with its tokens. */
export async function completeChoices(
  engine: Engine,
  request: GenerationRequest,
  signal = never,
): Promise<{ choices: Choice[]; usage: Usage | undefined }> {
  const choices = Array.from({ length: request.choices }, (): Choice => ({ text: '', tokens: [], finishes: [] }))
  let usage: Usage | undefined
  for await (const event of runOf(await engine.prepare(request, signal), signal)) {
    if (event.type === 'usage') usage = event.usage
    if (event.type !== 'raw-text' && event.type !== 'text-delta' && event.type !== 'finish') continue
    const choice = choices[event.choice]
    if (choice === undefined) throw new Error(`choice ${event.choice} was not asked for`)
    if (event.type === 'finish') choice.finishes.push(event.reason)
    else {
      choice.text += event.type === 'raw-text' ? event.text : event.delta
      choice.tokens.push(...(event.tokens ?? []))
    }
  }
  return { choices, usage }
}

/** What the tokens say that the text is. */
export function textOfTokens(tokens: readonly GeneratedToken[]): string {
  return Buffer.concat(tokens.map(({ bytes }) => Uint8Array.from(bytes))).toString('utf8')
}

/** What every engine must do, whatever runs behind it. */
export function describeEngineContract(name: string, { create, longPrompt, lacks = [] }: ContractOptions): void {
  const askFor = (text: string, options: Partial<GenerationRequest> = {}) => {
    return chatRequest(text, { ignoreEos: !lacks.includes('ignoreEos'), ...options })
  }
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
      const prepared = await engine.prepare(askFor(longPrompt, { maxOutputTokens: 5 }), never)
      const events: EngineEvent[] = []
      for await (const event of runOf(prepared, never)) events.push(event)
      const types = events.map((event) => event.type).filter((type, index, all) => type !== all[index - 1])
      expect(types.filter((type) => type !== 'prompt-read')).toEqual(['raw-text', 'finish', 'usage'])
      expect(types.indexOf('prompt-read')).toBeLessThanOrEqual(0)
    })

    test('the token limit ends with length, and is never exceeded', async () => {
      const outcome = await complete(engine, askFor(longPrompt, { maxOutputTokens: 7 }))
      expect(outcome).toMatchObject({ reason: 'length', usage: { outputTokens: 7 } })
    })

    test('usage counts the prompt that was announced', async () => {
      const prepared = await engine.prepare(askFor(longPrompt, { maxOutputTokens: 2 }), never)
      const usages: Usage[] = []
      for await (const event of runOf(prepared, never)) if (event.type === 'usage') usages.push(event.usage)
      expect(usages).toHaveLength(1)
      if (prepared.inputTokens !== undefined) expect(usages[0]?.inputTokens).toBe(prepared.inputTokens)
      expect(usages[0]?.inputTokens).toBeGreaterThan(0)
    })

    test('a stop string ends the text before it, and no part of it leaks', async () => {
      const whole = await complete(engine, askFor(longPrompt, { maxOutputTokens: 60 }))
      const start = Math.floor(whole.text.length / 2)
      const stop = whole.text.slice(start, start + 6)
      const cut = await complete(engine, askFor(longPrompt, { maxOutputTokens: 60, stop: [stop] }))
      expect(cut).toMatchObject({ reason: 'stop', stopSequence: stop })
      expect(cut.text).toBe(whole.text.slice(0, whole.text.indexOf(stop)))
    })

    test('a request that is cancelled while it generates ends with the reason, and the next one works', async () => {
      const { tokensAfterCancel: before = 0 } = engine
      const controller = new AbortController()
      const reason = new AppError('cancelled', 'enough')
      const prepared = await engine.prepare(askFor(longPrompt, { maxOutputTokens: 200 }), controller.signal)
      let late = 0
      const counted: PreparedGeneration = {
        ...prepared,
        run: (signal, emit) => prepared.run(signal, emit, (count) => (late += count)),
      }
      const run = async () => {
        for await (const event of runOf(counted, controller.signal)) if (event.type === 'raw-text') controller.abort(reason)
      }
      await expect(run()).rejects.toBe(reason)
      expect((engine.tokensAfterCancel ?? before) - before).toBe(late)
      // Of 200: a tiny model writes a hundred while a busy machine passes the word on.
      expect((engine.tokensAfterCancel ?? before) - before).toBeLessThan(190)
      expect(await complete(engine, askFor(longPrompt, { maxOutputTokens: 3 }))).toMatchObject({ reason: 'length' })
    })

    test('a reader that leaves early has stopped the work when its iteration has ended', async () => {
      const prepared = await engine.prepare(askFor(longPrompt, { maxOutputTokens: 200 }), never)
      for await (const event of runOf(prepared, never)) if (event.type === 'raw-text') break
      const outcomes = await Promise.all([1, 2, 3, 4].map(() => complete(engine, askFor(longPrompt, { maxOutputTokens: 4 }))))
      expect(outcomes.map((outcome) => outcome.reason)).toEqual(['length', 'length', 'length', 'length'])
    })

    test('a request that was cancelled before it began does no work', async () => {
      const controller = new AbortController()
      const prepared = await engine.prepare(askFor(longPrompt), never)
      controller.abort(new AppError('cancelled', 'gone'))
      await expect(runOf(prepared, controller.signal).next()).rejects.toMatchObject({ code: 'cancelled' })
      await expect(engine.prepare(askFor(longPrompt), controller.signal)).rejects.toMatchObject({ code: 'cancelled' })
    })

    test('requests run side by side, each with its own text', async () => {
      const requests = () => [4, 8, 12, 16].map((maxOutputTokens) => askFor(longPrompt, { maxOutputTokens }))
      const alone: string[] = []
      for (const request of requests()) alone.push((await complete(engine, request)).text)
      const together = await Promise.all(requests().map((request) => complete(engine, request)))
      expect(together.map((outcome) => outcome.text)).toEqual(alone)
    })

    test('a slow reader loses nothing', async () => {
      const whole = await complete(engine, askFor(longPrompt, { maxOutputTokens: 150 }))
      const prepared = await engine.prepare(askFor(longPrompt, { maxOutputTokens: 150 }), never)
      let text = ''
      let events = 0
      for await (const event of runOf(prepared, never)) {
        if (event.type !== 'raw-text') continue
        text += event.text
        events += 1
        if (events % 50 === 1) await sleep(50)
      }
      expect(text).toBe(whole.text)
    })

    test('each choice ends once, and the prompt is counted once for all', async () => {
      const alone = await completeChoices(engine, askFor(longPrompt, { maxOutputTokens: 6 }))
      const { choices, usage } = await completeChoices(engine, askFor(longPrompt, { choices: 3, maxOutputTokens: 6 }))
      expect(choices.map((choice) => choice.finishes)).toEqual([['length'], ['length'], ['length']])
      // Greedy choices have no reason to differ: what the first left behind must not change the others.
      expect(choices.map((choice) => choice.text)).toEqual(Array.from(choices, () => alone.choices[0]?.text))
      expect(usage).toMatchObject({ inputTokens: alone.usage?.inputTokens, outputTokens: 18 })
    })

    test('of choices that nobody waits for any more nothing comes', async () => {
      const controller = new AbortController()
      const reason = new AppError('cancelled', 'enough')
      const prepared = await engine.prepare(askFor(longPrompt, { choices: 3, maxOutputTokens: 4 }), never)
      let seen = 0
      const run = async () => {
        for await (const event of runOf(prepared, controller.signal)) {
          if (event.type !== 'raw-text') continue
          seen += 1
          controller.abort(reason)
        }
      }
      await expect(run()).rejects.toBe(reason)
      expect(seen).toBe(1)
    })

    if (!lacks.includes('logprobs')) {
      test('every generated token is reported once, and together they are the text', async () => {
        const request = askFor(longPrompt, { maxOutputTokens: 60 })
        const plain = await complete(engine, request)
        const { choices } = await completeChoices(engine, { ...request, id: `${request.id}-scored`, logprobs: { top: 2 } })
        const tokens = choices[0]?.tokens ?? []
        expect(choices[0]?.text).toBe(plain.text)
        expect(tokens).toHaveLength(60)
        // A character that the output ends inside of is in the tokens only.
        expect(textOfTokens(tokens).startsWith(plain.text)).toBe(true)
        for (const { logprob, top } of tokens) {
          expect(logprob).toBeLessThanOrEqual(0)
          expect(top.map((other) => other.logprob)).toEqual(top.map((other) => other.logprob).sort((a, b) => b - a))
          expect(top.reduce((sum, other) => sum + Math.exp(other.logprob), 0)).toBeLessThanOrEqual(1.001)
        }
      })

      test('tokens behind a stop string are not told', async () => {
        const whole = await complete(engine, askFor(longPrompt, { maxOutputTokens: 60 }))
        const start = Math.floor(whole.text.length / 2)
        const stop = whole.text.slice(start, start + 6)
        const request = askFor(longPrompt, { maxOutputTokens: 60, stop: [stop], logprobs: { top: 0 } })
        const { choices } = await completeChoices(engine, request)
        const text = choices[0]?.text ?? ''
        const told = textOfTokens(choices[0]?.tokens ?? [])
        expect(told.startsWith(text)).toBe(true)
        // The last one may begin before the stop string and end inside of it.
        expect(told.length).toBeLessThan(text.length + stop.length)
      })
    }

    for (const field of lacks) {
      test(`what its upstream lacks is refused by name: ${field}`, async () => {
        const wanted = { ignoreEos: { ignoreEos: true }, logprobs: { logprobs: { top: 0 } } }[field]
        await expect(engine.prepare(askFor(longPrompt, wanted), never)).rejects.toMatchObject({
          code: 'unsupported-field',
          at: [field],
        })
      })
    }

    test('a closed engine starts again when it is asked to be ready', async () => {
      await engine.close()
      expect(engine.state).toEqual({ type: 'stopped' })
      expect(await complete(engine, askFor(longPrompt, { maxOutputTokens: 3 }))).toMatchObject({ reason: 'length' })
    })

    test('a request beyond the context is refused before it runs, with both numbers', async () => {
      const { contextLength } = engine.facts
      if (contextLength === undefined) throw new Error('the contract needs an engine with a known context length')
      const tooLong = engine.prepare(askFor(longPrompt, { maxOutputTokens: contextLength }), never)
      const error = await tooLong.catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ code: 'context-length-exceeded', overflow: { contextLength, outputTokens: contextLength } })
      const { message, overflow } = error as AppError
      expect(message).toContain(String(contextLength))
      expect(message).toContain(String(overflow?.inputTokens))
    })
  })
}
