import { describe, expect, test } from 'vitest'
import { contextOf } from '../../test/support/http/context.ts'
import { iterate } from '../../test/support/http/iterate.ts'
import { playingEngine } from '../../test/support/upstream/stub-engine.ts'
import type { Engine } from '../contract/engine.ts'
import type { EngineEvent, GenerationEvent } from '../contract/event.ts'
import { type GenerationRequest, plainChat, plainRequest, type ToolChoice } from '../contract/request.ts'
import { generate } from './generate.ts'

const usage: EngineEvent = {
  type: 'usage',
  usage: { inputTokens: 3, cachedInputTokens: 0, outputTokens: 2, reasoningTokens: 0 },
  timings: {},
}
const says = (text: string, choice = 0, reason: 'stop' | 'length' | 'content-filter' = 'stop'): EngineEvent[] => [
  { type: 'raw-text', choice, text },
  { type: 'finish', choice, reason },
]
const calls = (choice = 0): EngineEvent[] => [
  { type: 'tool-call-start', choice, id: `id${choice}`, name: 'f' },
  { type: 'tool-call-delta', choice, id: `id${choice}`, delta: '{}' },
  { type: 'tool-call-end', choice, id: `id${choice}` },
  { type: 'finish', choice, reason: 'tool-calls' },
]

type Options = {
  readonly repeatsByGrammar?: true
  readonly toolChoice?: ToolChoice
  readonly choices?: number
  readonly isCertain?: boolean
  readonly seed?: number
}

/** Plays one list of events after the other. */
async function play(plays: readonly (readonly EngineEvent[])[], options: Options = {}) {
  const { toolChoice = { type: 'required' }, choices = 1, isCertain = false, seed, ...more } = options
  const asked: GenerationRequest[] = []
  const engines = plays.map((steps) => playingEngine([...steps, usage], { callsAreCertain: isCertain, ...more }))
  const engine: Engine = {
    ...(engines[0] as Engine),
    prepare: (request, signal) => {
      asked.push(request)
      return (engines[asked.length - 1] as Engine).prepare(request, signal)
    },
  }
  const prompt = { type: 'chat', ...plainChat, messages: [], tools: [{ name: 'f' }, { name: 'g' }] } as const
  const sampling = seed === undefined ? {} : { seed }
  const request = { ...plainRequest, id: 'r', model: 'm', prompt, toolChoice, choices, sampling }
  const { run } = generate({ now: () => 0 }, [request], contextOf(engine))
  const events: GenerationEvent[] = []
  try {
    for await (const event of iterate(run)) events.push(event)
    return { events, asked, error: undefined }
  } catch (error) {
    return { events, asked, error }
  }
}

describe('a required call', () => {
  test.each<[string, ToolChoice]>([
    ['required', { type: 'required' }],
    ['named', { type: 'required', names: ['f'] }],
  ])('a required call that does not come is asked for once more: %s', async (_, toolChoice) => {
    const { events, asked } = await play([says('I refuse'), calls()], { toolChoice, seed: 7 })
    expect(events.map(({ type }) => type)).toEqual([
      'start',
      'tool-call-start',
      'tool-call-delta',
      'tool-call-end',
      'finish',
      'usage',
    ])
    expect(asked.map(({ sampling }) => sampling.seed)).toEqual([7, 8])
    expect(events.at(-1)).toMatchObject({ usage: { inputTokens: 3, outputTokens: 4 } })
  })

  test('a required call that does not come twice is an error before the first event', async () => {
    const { events, asked, error } = await play([says('I refuse'), says('No')])
    expect(events.map(({ type }) => type)).toEqual(['start'])
    expect(asked).toHaveLength(2)
    expect(error).toMatchObject({ code: 'invalid-output', at: ['toolChoice'] })
  })

  test('a required call is asked for again for the choices that lack one', async () => {
    const { events, asked } = await play([[...calls(0), ...says('No', 1), ...calls(2)], calls(0)], { choices: 3, seed: 7 })
    expect(asked.map(({ choices }) => choices)).toEqual([3, 1])
    // The choices of the first try had 7, 8 and 9.
    expect(asked.map(({ sampling }) => sampling.seed)).toEqual([7, 10])
    const finished = events.flatMap((event) => (event.type === 'finish' ? [[event.choice, event.reason]] : []))
    expect(finished).toEqual([0, 2, 1].map((choice) => [choice, 'tool-calls']))
  })

  test('a required call may come after text, which is held until then', async () => {
    const { events } = await play([[{ type: 'raw-text', choice: 0, text: 'I look.' }, ...calls()]])
    expect(events.map(({ type }) => type).slice(0, 5)).toEqual([
      'start',
      'text-start',
      'text-delta',
      'text-end',
      'tool-call-start',
    ])
  })

  test.each(['length', 'content-filter'] as const)(
    'a required call is not missed in an answer that ended by %s',
    async (reason) => {
      const { events, asked } = await play([says('I', 0, reason)])
      expect(asked).toHaveLength(1)
      expect(events.at(-2)).toMatchObject({ type: 'finish', reason })
    },
  )

  test('a required call is missed in a truncated text where a grammar makes it the second time', async () => {
    const { events, asked } = await play([says('I', 0, 'length'), calls()], { repeatsByGrammar: true })
    expect(asked[1]?.toolChoice).toMatchObject({ type: 'required', isRepeated: true })
    expect(events.at(-2)).toMatchObject({ type: 'finish', reason: 'tool-calls' })
  })

  test('a required call is not missed in a truncated reasoning without text, also where a grammar would make it the second time', async () => {
    const reasoning: EngineEvent[] = [
      { type: 'reasoning-start', choice: 0 },
      { type: 'reasoning-delta', choice: 0, delta: 'Let me' },
      { type: 'reasoning-end', choice: 0 },
      { type: 'finish', choice: 0, reason: 'length' },
    ]
    const { events, asked } = await play([reasoning, calls()], { repeatsByGrammar: true })
    expect(asked).toHaveLength(1)
    expect(events.at(-2)).toMatchObject({ type: 'finish', reason: 'length' })
  })

  test('a required call is not missed in a refusal', async () => {
    const { asked, error } = await play([
      [
        { type: 'refusal-start', choice: 0 },
        { type: 'refusal-delta', choice: 0, delta: 'No.' },
        { type: 'finish', choice: 0, reason: 'stop' },
      ],
    ])
    expect(error).toBeUndefined()
    expect(asked).toHaveLength(1)
  })

  test.each<[string, Options]>([
    ['the engine guarantees it', { isCertain: true }],
    ['the model decides', { toolChoice: { type: 'auto' } }],
    ['none may be made', { toolChoice: { type: 'none' } }],
  ])('a required call is not looked for where %s', async (_, options) => {
    const { events, asked } = await play([says('Hello')], options)
    expect(asked).toHaveLength(1)
    expect(events.at(-1)?.type).toBe('usage')
  })
})
