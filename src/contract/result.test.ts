import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { codePoint } from '../../test/support/code-point.ts'
import { cutAt } from '../../test/support/parse-output.ts'
import { call, reasoning, refusal, text } from '../../test/support/parts.ts'
import { roundsOf } from '../../test/support/process/soak-length.ts'
import { AppError } from './errors.ts'
import type { GeneratedToken, GenerationEvent } from './event.ts'
import type { Annotation, OutputPart } from './request.ts'
import { type Choice, foldEvents } from './result.ts'

const usage: GenerationEvent = {
  type: 'usage',
  usage: { inputTokens: 1, cachedInputTokens: 0, outputTokens: 1, reasoningTokens: 0 },
  timings: {},
}

/** The choices of a successful generation with these events and a finish per choice. */
async function fold(events: readonly GenerationEvent[], choices = 1): Promise<readonly Choice[]> {
  const finishes = Array.from({ length: choices }, (_, choice): GenerationEvent => ({ type: 'finish', choice, reason: 'stop' }))
  return (await foldRaw([...events, ...finishes, usage])).choices
}

function foldRaw(events: readonly GenerationEvent[]) {
  return foldEvents({
    async run(emit) {
      await emit({ type: 'start', model: 'm', warnings: [] })
      for (const event of events) await emit(event)
    },
  })
}

/** The events of a part: its text in these pieces, with annotations within and after it. */
function eventsOf(part: OutputPart, choice: number, cuts: readonly number[]): GenerationEvent[] {
  switch (part.type) {
    case 'text': {
      const [first, ...rest] = deltasOf('text-delta', part.text)
      const [early, ...late] = (part.annotations ?? []).map(
        (annotation): GenerationEvent => ({ type: 'annotation', choice, annotation }),
      )
      const during = [first, early, ...rest].filter((event) => event !== undefined)
      return [{ type: 'text-start', choice }, ...during, { type: 'text-end', choice }, ...late]
    }
    case 'reasoning': {
      const end = { type: 'reasoning-end', choice, ...(part.opaque !== undefined && { opaque: part.opaque }) } as const
      return [{ type: 'reasoning-start', choice }, ...deltasOf('reasoning-delta', part.text), end]
    }
    case 'refusal':
      return [{ type: 'refusal-start', choice }, ...deltasOf('refusal-delta', part.text), { type: 'refusal-end', choice }]
    case 'tool-call': {
      const { id, name, input, kind, state, raw } = part
      return [
        { type: 'tool-call-start', choice, id, name, ...(kind !== undefined && { kind }) },
        ...cutAt(input, cuts).map((delta): GenerationEvent => ({ type: 'tool-call-delta', choice, id, delta })),
        { type: 'tool-call-end', choice, id, ...(state !== undefined && { state }), ...(raw !== undefined && { raw }) },
      ]
    }
    case 'tool-result':
    case 'media':
      return expect.unreachable(`nothing generates a part of type ${part.type}`)
  }

  function deltasOf(type: 'text-delta' | 'reasoning-delta' | 'refusal-delta', words: string): GenerationEvent[] {
    return cutAt(words, cuts).map((delta) => ({ type, choice, delta }))
  }
}

const words = fc.string({ unit: codePoint, minLength: 1, maxLength: 12 })
const annotation: fc.Arbitrary<Annotation> = fc.oneof(
  fc.record(
    {
      type: fc.constant('url-citation'),
      url: fc.webUrl(),
      title: fc.string(),
      startIndex: fc.nat(),
      endIndex: fc.nat(),
    } as const,
    { requiredKeys: ['type', 'url'] },
  ),
  fc.record({ type: fc.constant('file-citation'), fileId: fc.string(), filename: fc.string(), index: fc.nat() } as const, {
    requiredKeys: ['type', 'fileId'],
  }),
)
const generatedPart: fc.Arbitrary<OutputPart> = fc.oneof(
  fc.record(
    { type: fc.constant('text'), text: words, annotations: fc.array(annotation, { minLength: 1, maxLength: 3 }) } as const,
    { requiredKeys: ['type', 'text'] },
  ),
  fc.record({ type: fc.constant('reasoning'), text: words, opaque: fc.string() } as const, { requiredKeys: ['type', 'text'] }),
  // Some servers send only the signature of a block.
  fc.record({ type: fc.constant('reasoning'), text: fc.constant(''), opaque: fc.string() } as const),
  fc.record({ type: fc.constant('refusal'), text: words } as const),
  fc.record(
    {
      type: fc.constant('tool-call'),
      // Some upstreams give two calls the same id.
      id: fc.constantFrom('call_a', 'call_b'),
      name: fc.string(),
      input: fc.string({ unit: codePoint }),
      kind: fc.constant('custom'),
      state: fc.constantFrom('repaired', 'unparseable'),
      raw: fc.string(),
    } as const,
    { requiredKeys: ['type', 'id', 'name', 'input'] },
  ),
)

/** Parts of a choice, and where the text of each is split. */
const generatedChoice = fc.array(fc.tuple(generatedPart, fc.array(fc.nat(12), { maxLength: 4 })), { maxLength: 8 })

describe('a folded generation has its parts in the order of generation', () => {
  test.each<[string, readonly OutputPart[]]>([
    ['text, call, text', [text('I look.'), call('a', 'f', '{}'), text('Found.')]],
    ['thought, call, thought', [reasoning('hm'), call('a', 'f', '{"n":1}'), reasoning('aha')]],
    ['thought, text, thought, text', [reasoning('x'), text('a'), reasoning('y'), text('b')]],
    ['two texts in a row', [text('a'), text('b')]],
    [
      'two thoughts in a row, each with its signature',
      [
        { ...reasoning('a'), opaque: 's1' },
        { ...reasoning('b'), opaque: 's2' },
      ],
    ],
    ['calls of one id', [call('a', 'f', '1'), call('a', 'g', '2')]],
    ['a refusal after a text', [text('Well,'), refusal('no.')]],
  ])('the parts keep the order of generation: %s', async (_, parts) => {
    expect(await fold(parts.flatMap((part) => eventsOf(part, 0, [1, 2])))).toMatchObject([{ parts }])
  })

  test('for all kinds of parts, splits of their text, and interleaved choices', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(generatedChoice, { minLength: 1, maxLength: 3 }),
        fc.array(fc.nat(2), { maxLength: 100 }),
        async (choices, turns) => {
          const rows = choices.map((parts, choice) => parts.flatMap(([part, cuts]) => eventsOf(part, choice, cuts)))
          const folded = await fold(interleave(rows, turns), choices.length)
          expect(folded.map(({ parts }) => parts)).toEqual(choices.map((parts) => parts.map(([part]) => part)))
        },
      ),
      { numRuns: roundsOf(100, 500) },
    )
  })

  test('the next block of another kind ends an open block', async () => {
    const delta = (type: 'text-delta' | 'reasoning-delta' | 'refusal-delta', words: string): GenerationEvent => {
      return { type, choice: 0, delta: words }
    }
    const events: GenerationEvent[] = [
      delta('reasoning-delta', 'h'),
      delta('reasoning-delta', 'm'),
      delta('text-delta', 'a'),
      { type: 'tool-call-start', choice: 0, id: 'c', name: 'f' },
      delta('text-delta', 'b'),
      delta('refusal-delta', 'no'),
    ]
    expect(await fold(events)).toMatchObject([
      { parts: [reasoning('hm'), text('a'), call('c', 'f', ''), text('b'), refusal('no')] },
    ])
  })
})

describe('a folded generation', () => {
  const cited: Annotation = { type: 'url-citation', url: 'https://a.example' }

  test('a folded generation keeps the tokens of empty deltas without making parts', async () => {
    const token: GeneratedToken = { id: 1, text: '', bytes: [], logprob: -1, top: [] }
    const events: GenerationEvent[] = [
      { type: 'text-start', choice: 0 },
      { type: 'text-delta', choice: 0, delta: '', tokens: [token] },
      { type: 'text-end', choice: 0 },
    ]
    expect(await fold(events)).toEqual([{ parts: [], tokens: [token], finish: { reason: 'stop' } }])
  })

  test('a folded generation has one text part for text annotated before its first delta', async () => {
    const events = [{ type: 'annotation', choice: 0, annotation: cited } as const, ...eventsOf(text('ab'), 0, [1])]
    expect(await fold(events)).toMatchObject([{ parts: [{ ...text('ab'), annotations: [cited] }] }])
  })

  test('attaches an annotation after a call to the text before it', async () => {
    const events = [text('ab'), call('c', 'f', '')].flatMap((part) => eventsOf(part, 0, []))
    expect(await fold([...events, { type: 'annotation', choice: 0, annotation: cited }])).toMatchObject([
      { parts: [{ ...text('ab'), annotations: [cited] }, call('c', 'f', '')] },
    ])
  })

  test('a folded generation reports how each choice ended', async () => {
    const finish = { reason: 'stop', stopSequence: 'END', rawReason: 'eos' } as const
    const { choices } = await foldRaw([{ type: 'finish', choice: 0, ...finish }, usage])
    expect(choices).toEqual([{ parts: [], tokens: [], finish }])
  })

  test('a folded generation throws the error of a failed generation, and for one that is not sealed', async () => {
    const error = new AppError('engine-failed', 'boom')
    await expect(foldRaw([...eventsOf(text('a'), 0, []), { type: 'error', error }])).rejects.toBe(error)
    await expect(foldRaw(eventsOf(text('a'), 0, []))).rejects.toThrow('sealed')
    await expect(foldRaw([...eventsOf(text('a'), 0, []), usage])).rejects.toThrow('without a finish')
  })
})

/** One list of several, each in its own order: `turns` says which of those that are left comes next. */
function interleave<T>(rows: readonly (readonly T[])[], turns: readonly number[]): T[] {
  const left = rows.map((row) => [...row])
  const merged: T[] = []
  for (const turn of turns) {
    const row = left[turn % left.length]
    if (row !== undefined && row.length > 0) merged.push(row.shift() as T)
  }
  return [...merged, ...left.flat()]
}
