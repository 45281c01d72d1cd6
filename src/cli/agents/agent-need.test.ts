import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { needOf, planRoom, tooSmall } from './agent-need.ts'
import { agents } from './agents.ts'

const agentOf = (name: string) => agents.get(name) ?? expect.fail(`no agent ${name}`)

test.each([
  ['claude', 'Claude Code needs at least 24400: its first request takes about 12200'],
  ['pi', 'pi needs at least 19184: its first request takes about 1400, and it keeps 16384 free'],
])('a context that is too small for %s is described', (name, need) => {
  const agent = agentOf(name)
  const said = tooSmall(agent, needOf(agent), { id: 'm', contextLength: 16_384 })
  expect(said).toBe(`the context of m is 16384 tokens, and ${need}`)
})

test('docs/guides/agents.md has what each agent needs', () => {
  const page = readFileSync(new URL('../../../docs/guides/agents.md', import.meta.url), 'utf8')
  const rows = [...page.matchAll(/^\| `(\w+)` +\| (\d+) +\| (\d*) +\| (\d+) +\|$/gm)].map(([, name, ...numbers]) => [
    name,
    ...numbers.map(Number),
  ])
  const expected = [...agents].map(([name, agent]) => {
    const { first, reserved, tokens } = needOf(agent)
    return [name, first, reserved, tokens]
  })
  expect(rows.toSorted()).toEqual(expected.toSorted())
})

/** The bytes of the first requests of real agents, as they were recorded. */
const recordedBytes = { cline: 21_754, codex: 39_524, copilot: 49_219, opencode: 30_712, pi: 5608, qwen: 75_899 }
/** As they were captured by hand. */
const capturedBytes = { droid: 41_302, hermes: 59_732, kimi: 88_626, openclaw: 54_712 }

test.each(Object.entries({ ...recordedBytes, ...capturedBytes }))(
  'the size of the first request of %s is as recorded',
  (name, bytes) => {
    expect(Math.abs((agentOf(name).firstRequestBytes ?? 0) / bytes - 1)).toBeLessThan(0.05)
  },
)

describe('the room for an agent that needs 24,400 tokens', () => {
  const need = needOf(agentOf('claude'))
  const room = { contextLength: 8192, trained: 131_072 }
  const longest = (...lengths: number[]) => lengths.map((contextLength, index) => ({ slots: 4 >> index, contextLength }))

  test('is enough', () => {
    expect(planRoom(need, { ...room, contextLength: 24_400, longest: [] })).toEqual({ type: 'enough' })
  })

  test.each([
    ['with all slots, twice what it needs', longest(90_000, 131_072, 131_072), { slots: 4, contextLength: 48_896 }],
    ['with all slots, as much as fits', longest(30_000, 60_000, 120_000), { slots: 4, contextLength: 30_000 }],
    ['with half of the slots', longest(20_000, 40_000, 80_000), { slots: 2, contextLength: 40_000 }],
    ['with one slot', longest(10_000, 20_000, 40_000), { slots: 1, contextLength: 40_000 }],
  ])('is made %s', (_, fitting, settings) => {
    expect(planRoom(need, { ...room, longest: fitting })).toEqual({ type: 'load', ...settings })
  })

  test.each([
    [
      'the model was trained for less',
      { ...room, trained: 16_384, longest: longest(16_384) },
      /^The model was trained for 16384 tokens: choose/,
    ],
    [
      'the memory is too small',
      { ...room, longest: longest(2000, 4000, 8000) },
      /^The model was trained for 131072 tokens, but memory\.budget has room for 8000 with slots: 1: choose a smaller quantization or model, or raise/,
    ],
  ])('is not there where %s', (_, model, why) => {
    expect(planRoom(need, model)).toEqual({ type: 'too-small', why: expect.stringMatching(why) })
  })
})
