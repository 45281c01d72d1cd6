import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { AppError } from '../../../src/contract/errors.ts'
import type { EngineEvent } from '../../../src/contract/event.ts'
import type { Report, RunCommand } from '../../../src/engine/llama/channel/ipc.ts'
import { resolveSampling } from '../../../src/engine/llama/channel/resolve-sampling.ts'
import { LlamaEngine } from '../../../src/engine/llama/engine.ts'
import { decode } from '../../../src/engine/llama/worker/answers/decode.ts'
import { loadModel, type WorkerModel } from '../../../src/engine/llama/worker/model/model.ts'
import { PrefillPacer } from '../../../src/engine/llama/worker/rounds/prefill-pacer.ts'
import { SlotPool } from '../../../src/engine/llama/worker/slots/slot-pool.ts'
import { chatRequest, complete, completeChoices } from '../../engine-contract.ts'
import { runOf } from '../../support/http/iterate.ts'
import { comparable, expectSame } from '../../support/llama/same-text.ts'
import { countPromptTokens, watchPasses } from '../../support/llama/watch-passes.ts'

const never = new AbortController().signal
const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined }
const modelPath = fileURLToPath(new URL('../../../models/dragoman-tiny.gguf', import.meta.url))
const options = { modelPath, slots: 4, contextLength: 1024, threads: 1, flashAttention: true }
const sampling = { temperature: 1.3, topK: 0, topP: 1, minP: 0, seed: 11 }
const story = 'Tell me something about the weather in Rome, and about tea.'

/** What came, with the choice that it is of, in order. */
async function events(engine: LlamaEngine, request: ReturnType<typeof chatRequest>, signal = never): Promise<EngineEvent[]> {
  const all: EngineEvent[] = []
  for await (const event of runOf(await engine.prepare(request, signal), signal)) all.push(event)
  return all
}

function textOf(all: readonly EngineEvent[], choice: number): string {
  return all.map((event) => (event.type === 'raw-text' && event.choice === choice ? event.text : '')).join('')
}

describe('choices on the embedded engine', () => {
  let engine: LlamaEngine
  beforeAll(async () => {
    engine = new LlamaEngine({ id: 'tiny', locate: async () => options, log: quiet })
    await engine.ensureReady(never)
  })
  afterAll(() => engine.close())

  test('their texts come behind a prompt that is read and counted once', async () => {
    const all = await events(engine, chatRequest(story, { sampling, choices: 3, maxOutputTokens: 40, logprobs: { top: 0 } }))
    expect(all.filter((event) => event.type === 'prompt-read')).toHaveLength(1)
    expect(all[0]?.type).toBe('prompt-read')
    const alone = await complete(engine, chatRequest(story, { maxOutputTokens: 1 }))
    expect(all.at(-1)).toMatchObject({
      type: 'usage',
      usage: { inputTokens: alone.usage?.inputTokens, outputTokens: 120 },
    })
  })

  test.each([
    { name: 'plain', wanted: {} },
    { name: 'with log-probabilities', wanted: { logprobs: { top: 2 } } },
    { name: 'with penalties', wanted: { sampling: { ...sampling, repetitionPenalty: 1.2, frequencyPenalty: 0.5 } } },
    { name: 'with a grammar', wanted: { output: { type: 'regex', pattern: '[a-z]{5,30}' } as const } },
    { name: 'with a reasoning budget', wanted: { reasoning: { budgetTokens: 3 } } },
    { name: 'that end where they like', wanted: { ignoreEos: false } },
  ])('choice i is what one choice with the seed + i is: $name', { tags: ['gpu'] }, async ({ wanted }) => {
    const request = { sampling, maxOutputTokens: 40, ...wanted }
    const { choices, usage } = await completeChoices(engine, comparable(chatRequest(story, { ...request, choices: 4 })))
    let outputTokens = 0
    for (const [index, choice] of choices.entries()) {
      const seeded = { ...request, sampling: { ...request.sampling, seed: sampling.seed + index } }
      const alone = await completeChoices(engine, comparable(chatRequest(story, seeded)))
      expectSame(choice, alone.choices[0], `choice ${index}`)
      outputTokens += alone.usage?.outputTokens ?? 0
    }
    expect(new Set(choices.map(({ text }) => text)).size).toBeGreaterThan(1)
    expect(usage?.outputTokens).toBe(outputTokens)
  })

  test('a stop text ends its choice, and the others go on', async () => {
    const request = { sampling, choices: 3, maxOutputTokens: 60 }
    const whole = await completeChoices(engine, chatRequest(story, request))
    const [first, ...others] = whole.choices.map(({ text }) => text)
    // A piece of the first text that comes early in it, and in no other.
    const at = Array.from({ length: 40 }, (_, start) => start + 3).find(
      (start) => !others.some((text) => text.includes(first?.slice(start, start + 6) ?? '')),
    ) as number
    const stop = first?.slice(at, at + 6) ?? ''
    const all = await events(engine, chatRequest(story, { ...request, stop: [stop] }))
    expect(textOf(all, 0)).toBe(first?.slice(0, first.indexOf(stop)))
    expect([1, 2].map((choice) => textOf(all, choice))).toEqual(others)
    const finishes = all.filter((event) => event.type === 'finish')
    expect(finishes[0]).toEqual({ type: 'finish', choice: 0, reason: 'stop', stopSequence: stop })
    expect(finishes.map((event) => event.reason)).toEqual(['stop', 'length', 'length'])
    const behind = all.slice(all.indexOf(finishes[0] as EngineEvent))
    expect(new Set(behind.flatMap((event) => (event.type === 'raw-text' ? [event.choice] : [])))).toEqual(new Set([1, 2]))
  })

  test('a request that comes meanwhile does not wait for them to end, and nothing of them is lost', async () => {
    const request = { sampling, choices: 4, maxOutputTokens: 120 }
    const undisturbed = await completeChoices(engine, chatRequest(story, request))
    let ended = 0
    let seen = 0
    let meanwhile: Promise<unknown> | undefined
    const texts = ['', '', '', '']
    for await (const event of runOf(await engine.prepare(chatRequest(story, request), never), never)) {
      if (event.type === 'finish') ended += 1
      if (event.type !== 'raw-text') continue
      texts[event.choice] += event.text
      seen += 1
      if (seen !== 20) continue
      const others = [1, 2, 3].map((at) => complete(engine, chatRequest(`Hello number ${at}`, { maxOutputTokens: 5 })))
      meanwhile = Promise.all(others).then((outcomes) => ({ endedThen: ended, reasons: outcomes.map(({ reason }) => reason) }))
    }
    expect(await meanwhile).toEqual({ endedThen: 0, reasons: ['length', 'length', 'length'] })
    expect(ended).toBe(4)
    expect(texts).toEqual(undisturbed.choices.map(({ text }) => text))
  })

  test('requests with more choices than slots run beside each other, each to its end', async () => {
    const outcomes = await Promise.all(
      [3, 5, 7, 9].map((choices) => completeChoices(engine, chatRequest(story, { sampling, choices, maxOutputTokens: 12 }))),
    )
    expect(outcomes.map(({ choices }) => choices.map(({ finishes }) => finishes.join()))).toEqual(
      [3, 5, 7, 9].map((count) => Array.from({ length: count }, () => 'length')),
    )
    expect(outcomes.map(({ usage }) => usage?.outputTokens)).toEqual([36, 60, 84, 108])
  })

  test('a request that is cancelled, or left, frees all that it held', async () => {
    const reason = new AppError('cancelled', 'enough')
    const controller = new AbortController()
    const long = () => chatRequest(story, { choices: 4, maxOutputTokens: 300 })
    const cancelled = async () => {
      const prepared = await engine.prepare(long(), never)
      for await (const event of runOf(prepared, controller.signal)) if (event.type === 'raw-text') controller.abort(reason)
    }
    await expect(cancelled()).rejects.toBe(reason)
    for await (const event of runOf(await engine.prepare(long(), never), never)) if (event.type === 'raw-text') break
    const next = [1, 2, 3, 4].map(() => complete(engine, chatRequest(story, { maxOutputTokens: 4 })))
    expect((await Promise.all(next)).map((outcome) => outcome.reason)).toEqual(['length', 'length', 'length', 'length'])
  })

  test('a choice that fails ends the request, and frees all that it held', async () => {
    // Nothing but a letter that the grammar does not allow.
    const bias = new Map(Array.from({ length: engine.facts.vocabularySize ?? 0 }, (_, id) => [id, -100] as const))
    const output = { type: 'gbnf', grammar: 'root ::= "a"+' } as const
    const failing = chatRequest(story, { output, choices: 3, sampling: { ...sampling, logitBias: bias }, maxOutputTokens: 20 })
    await expect(completeChoices(engine, failing)).rejects.toMatchObject({ code: 'invalid-request' })
    const next = [1, 2, 3, 4].map(() => complete(engine, chatRequest(story, { maxOutputTokens: 4 })))
    expect((await Promise.all(next)).map((outcome) => outcome.reason)).toEqual(['length', 'length', 'length', 'length'])
  })
})

describe('choices on two slots', () => {
  let loaded: WorkerModel
  let pool: SlotPool<WorkerModel['slots'][number]>
  let prompt: Uint32Array
  // Larger steps round otherwise (docs/inside/decisions/0020): how fast the machine is would then decide about texts.
  const pacer = new PrefillPacer({ largestStep: 32 })
  const running = { cancelled: () => false, paused: () => undefined }
  beforeAll(async () => {
    loaded = await loadModel(
      { ...options, slots: 2 },
      { onProgress: () => undefined, onLog: () => undefined, onWarning: () => undefined },
    )
    computed = countPromptTokens(loaded.context)
    passes = watchPasses(loaded.context)
    pool = new SlotPool(loaded.slots)
    loaded = { ...loaded, pacer, pool }
    prompt = Uint32Array.from(loaded.model.tokenize('The weather in Rome is as it is, and tea is tea. '.repeat(20)))
  })
  afterAll(() => loaded.model.dispose())

  const command = (wanted: Partial<RunCommand> = {}): RunCommand => ({
    type: 'run',
    id: 'r',
    owner: '',
    tokens: prompt,
    maxOutputTokens: 20,
    stop: [],
    ignoreEos: true,
    sampling: resolveSampling({ request: sampling }),
    choices: 3,
    plan: {},
    ...wanted,
  })
  /** How many tokens of prompts were computed so far. */
  let computed: () => number
  /** The sequences of each pass so far. */
  let passes: readonly number[][]
  const forget = () => Promise.all(loaded.slots.map(({ sequence }) => sequence.clearHistory()))
  const collect = () => {
    const reports: Report[] = []
    const text = (choice: number) => reports.map((one) => (one.type === 'text' && one.choice === choice ? one.text : '')).join('')
    return { reports, report: (one: Report) => void reports.push(one), text }
  }

  test('three of them read the prompt once, two at a time', async () => {
    await forget()
    const before = computed()
    const { reports, report, text } = collect()
    const done = await decode(loaded, { command: command(), control: running }, report)
    expect(done).toMatchObject({ cancelled: false, outputTokens: 60 })
    // All of it but the last token, which gives the first of each answer.
    expect(computed() - before).toBe(prompt.length - 1)
    const firstEnd = reports.findIndex(({ type }) => type === 'choice-done')
    const begun = reports.slice(0, firstEnd).flatMap((one) => (one.type === 'text' ? [one.choice] : []))
    expect(new Set(begun)).toEqual(new Set([0, 1]))

    const texts = [0, 1, 2].map(text)
    for (const index of [0, 1, 2]) {
      await forget()
      const alone = collect()
      const seeded = { ...command({ choices: 1 }), sampling: resolveSampling({ request: { ...sampling, seed: 11 + index } }) }
      await decode(loaded, { command: seeded, control: running }, alone.report)
      expect(alone.text(0)).toBe(texts[index])
    }
  })

  test('neither waits for the other to end', async () => {
    const maxOutputTokens = 60
    await decode(loaded, { command: command({ choices: 1, maxOutputTokens: 1 }), control: running }, collect().report)
    const before = passes.length
    await decode(loaded, { command: command({ choices: 2, maxOutputTokens }), control: running }, collect().report)
    const turns = passes.slice(before)
    const sequences = [...new Set(turns.flat())]
    expect(sequences).toHaveLength(2)
    // When one has ended, the other is alone.
    const firstEnd = Math.min(...sequences.map((one) => turns.findLastIndex((turn) => turn.includes(one))))
    // Together, or where that is faster by turns of four passes (`PassSize`); more where a busy machine keeps the other from its next.
    const { most } = turns.slice(0, firstEnd).reduce(
      ({ most, row, last }, turn) => {
        const alone = turn.length === 1 ? turn[0] : undefined
        const length = alone === undefined ? 0 : alone === last ? row + 1 : 1
        return { most: Math.max(most, length), row: length, last: alone }
      },
      { most: 0, row: 0, last: undefined as number | undefined },
    )
    expect(most).toBeLessThan(maxOutputTokens / 3)
  })

  test('a short prompt is read again where that costs less than copying', async () => {
    await forget()
    const before = computed()
    await decode(loaded, { command: command({ tokens: prompt.slice(0, 6), choices: 2 }), control: running }, collect().report)
    expect(computed() - before).toBe(10)
  })

  test('a choice whose slot is recalled goes on where it was, when there is a slot again', async () => {
    const undisturbed = collect()
    await decode(loaded, { command: command({ choices: 2 }), control: running }, undisturbed.report)
    const before = computed()
    const { reports, report, text } = collect()
    let visitor: Promise<void> | undefined
    const visit = async () => {
      const lease = await pool.take({}, { owner: '', tokens: [] })
      await lease.slot.sequence.clearHistory()
      lease.giveBack()
    }
    await decode(loaded, { command: command({ choices: 2 }), control: running }, (one) => {
      report(one)
      if (reports.length === 8) visitor = visit()
    })
    await visitor
    expect([0, 1].map(text)).toEqual([0, 1].map(undisturbed.text))
    // The visitor left nothing of the prompt: it was copied from the other choice, which went on meanwhile.
    expect(computed() - before).toBeLessThan(20)
  })

  test('a reader who is behind does not keep a slot from somebody who has none', async () => {
    const { reports, report, text } = collect()
    let resume: () => void = () => undefined
    let paused: Promise<void> | undefined
    const control = { cancelled: () => false, paused: () => paused }
    const ended = decode(loaded, { command: command({ choices: 2 }), control }, (one) => {
      report(one)
      if (reports.length !== 6) return
      paused = new Promise((resolve) => {
        resume = resolve
      })
    })
    await expect.poll(() => paused !== undefined).toBe(true)
    const lease = await pool.take({}, { owner: '', tokens: [] })
    expect(reports.some(({ type }) => type === 'choice-done')).toBe(false)
    lease.giveBack()
    resume()
    paused = undefined
    expect(await ended).toMatchObject({ cancelled: false, outputTokens: 40 })
    expect(text(0)).not.toBe('')
  })

  test('nothing but the prompt is read for answers of no tokens', async () => {
    const { reports, report } = collect()
    const done = await decode(loaded, { command: command({ maxOutputTokens: 0 }), control: running }, report)
    expect(done).toMatchObject({ cancelled: false, outputTokens: 0 })
    expect(reports.map(({ type }) => type)).toEqual(['prompt-read', 'choice-done', 'choice-done', 'choice-done'])
    expect(loaded.slots.map(({ busy }) => busy)).toEqual([false, false])
  })

  test('a prompt that nobody wants any more is not read to its end, and frees its slot', async () => {
    await forget()
    const { reports, report } = collect()
    const control = { cancelled: () => true, paused: () => undefined }
    expect(await decode(loaded, { command: command(), control }, report)).toMatchObject({ cancelled: true })
    expect(reports).toEqual([])
    expect(loaded.slots.map(({ busy }) => busy)).toEqual([false, false])
  })
})
