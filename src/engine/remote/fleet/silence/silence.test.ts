import { expect, test } from 'vitest'
import { endpoint, watched } from './__fixtures__/watched.ts'
import { Silence, silenceTickMs } from './silence.ts'

test('a replica is checked every second while a request waits longer than usual, and not before', async () => {
  const { learn, watch, pass, checksAt } = watched()
  const startMs = await learn(2)
  const one = watch()
  await pass(2)
  expect(checksAt).toEqual([])
  await pass(5)
  expect(checksAt).toEqual([2, 3, 4, 5, 6].map((second) => startMs + second * 1000 + silenceTickMs))
  one.ended()
  await pass(5)
  expect(checksAt).toHaveLength(5)
})

test.each([
  { usual: 0.25, moves: 1250 },
  { usual: 1, moves: 2000 },
  { usual: 2, moves: 4000 },
])('on a silent replica, a request of usually $usual s to its first token moves after $moves ms', async ({ usual, moves }) => {
  const { learn, watch, pass, state, movedAt, endedWith } = watched()
  const startMs = await learn(usual)
  watch()
  state.answers = false
  await pass(30)
  expect(movedAt).toEqual([startMs + moves])
  expect(endedWith).toEqual(['silent'])
})

test('while nothing is known of a model, it moves after 5 seconds', async () => {
  const { silence, watch, pass, state, movedAt } = watched()
  silence.learnCheck(2)
  watch()
  state.answers = false
  await pass(30)
  expect(movedAt).toEqual([5000])
})

test('where checks are answered slowly, it is left alone for as long as a check may take', async () => {
  const { learn, watch, pass, state, silence, movedAt } = watched()
  const startMs = await learn(0.25)
  silence.learnCheck(900)
  watch()
  state.answers = false
  await pass(30)
  expect(movedAt).toEqual([startMs + 3000])
})

test('a replica that lost a request is checked until it is ejected, within 5 seconds of the first check, also without requests', async () => {
  const { learn, watch, pass, state, silence, checksAt, movedAt, doubtsAt } = watched()
  const startMs = await learn(1)
  watch()
  state.answers = false
  await pass(5.5)
  expect(movedAt).toHaveLength(1)
  expect(state.isEjected).toBe(false)
  expect(silence.isIdle).toBe(false)
  await pass(0.25)
  expect(state.isEjected).toBe(true)
  await pass(10)
  expect(checksAt).toEqual([1, 2, 3, 4, 5].map((second) => startMs + second * 1000 + silenceTickMs))
  expect(doubtsAt[0]).toBe(startMs + 2000)
  expect(doubtsAt.at(-1)).toBe(startMs + 5500)
  expect(silence.isIdle).toBe(true)
})

test('one that answers again, or leaves, is no longer in doubt', async () => {
  for (const end of ['answers', 'leaves']) {
    const { learn, watch, pass, state, silence, movedAt, doubtsAt } = watched()
    await learn(1)
    watch()
    state.answers = false
    await pass(2.5)
    expect(movedAt).toHaveLength(1)
    if (end === 'leaves') silence.onLeft('a')
    state.answers = true
    await pass(1)
    const doubts = doubtsAt.length
    await pass(10)
    expect([end, doubtsAt.length, state.isEjected, silence.isIdle]).toEqual([end, doubts, false, true])
  }
})

test('a pause of this process is not the silence of a replica', async () => {
  const { learn, watch, pass, state, skip, movedAt } = watched()
  await learn(1)
  watch()
  state.answers = false
  await pass(1.25)
  skip(5)
  state.answers = true
  await pass(5)
  expect(movedAt).toEqual([])
})

test('a prompt of a minute stays where the checks are answered', async () => {
  const { learn, watch, pass, movedAt } = watched()
  await learn(1)
  watch()
  await pass(60)
  expect(movedAt).toEqual([])
})

test('a prompt that reports progress stays, although nobody answers the checks, until the reports stop', async () => {
  const { learn, watch, pass, state, movedAt } = watched()
  const startMs = await learn(1)
  watch()
  state.answers = false
  for (let second = 0; second < 30; second++) {
    state.bytes += 100
    await pass(1)
  }
  expect(movedAt).toEqual([])
  await pass(20)
  expect(movedAt).toEqual([startMs + 39_250])
})

test('while no other replica can take it, a request waits for one', async () => {
  const { learn, watch, pass, state, movedAt } = watched()
  const startMs = await learn(1)
  state.canMove = false
  state.answers = false
  watch()
  await pass(20)
  expect(movedAt).toEqual([])
  state.canMove = true
  await pass(1)
  expect(movedAt).toEqual([startMs + 20_250])
})

test('a request that has moved before moves again after 30 seconds on an ejected replica, and not from one that answers checks', async () => {
  for (const answers of [false, true]) {
    const { learn, watch, pass, state, movedAt } = watched()
    const startMs = await learn(1)
    Object.assign(state, { answers, canMove: false, canMoveFromDead: true })
    watch()
    await pass(60)
    expect(movedAt).toEqual(answers ? [] : [startMs + 30_000])
  }
})

test('a first token of another request shows that a replica lives: checks from before it say nothing', async () => {
  const { learn, watch, pass, state, movedAt, silence } = watched()
  await learn(1)
  state.answers = false
  watch()
  for (let half = 0; half < 40; half++) {
    const other = watch()
    await pass(0.5)
    other.begun()
    other.ended()
  }
  expect(movedAt).toEqual([])
  silence.onLeft('a')
  expect(movedAt).toHaveLength(1)
})

test('a request that is refused a connection takes the silent ones with it once the replica is ejected', async () => {
  const { watch, pass, state, movedAt, silence } = watched()
  watch()
  await pass(1)
  silence.onRefused('a')
  expect(movedAt).toEqual([])
  state.isEjected = true
  silence.onRefused('a')
  expect(movedAt).toEqual([1000])
})

test('a reply that stops in the middle is checked for after 5 seconds, and moves when its replica is ejected', async () => {
  const { watch, pass, state, checksAt, movedAt } = watched()
  const one = watch()
  for (let second = 0; second < 10; second++) {
    state.bytes += 100
    await pass(1)
    if (second === 0) one.begun()
  }
  expect(checksAt).toEqual([])
  state.answers = false
  await pass(30)
  expect(checksAt[0]).toBe(14_500)
  expect(movedAt).toEqual([19_250])
})

test('one that nothing can continue is given up a minute after its last byte, if its replica is still ejected', async () => {
  for (const returns of [false, true]) {
    const { watch, pass, state, movedAt, endedWith } = watched()
    state.canMove = false
    watch().begun()
    state.answers = false
    await pass(58)
    expect(endedWith).toEqual([])
    state.answers = returns
    await pass(12)
    expect([returns, movedAt, endedWith]).toEqual(returns ? [true, [], []] : [false, [60_000], ['truncated']])
  }
})

test('a reply that stops in the middle stays where the checks are answered, for a minute', async () => {
  const { watch, pass, movedAt } = watched()
  watch().begun()
  await pass(59)
  expect(movedAt).toEqual([])
})

test('what has ended is neither checked for nor moved', async () => {
  const { watch, pass, silence, checksAt, movedAt } = watched()
  const one = watch()
  one.begun()
  one.ended()
  watch().ended()
  await pass(20)
  silence.onLeft('a')
  expect([checksAt, movedAt]).toEqual([[], []])
})

test('where all replicas are silent, at most 64 checks run together', async () => {
  let running = 0
  let most = 0
  let nowMs = 0
  const waiting: (() => void)[] = []
  const silence = new Silence({
    now: () => nowMs,
    isEjected: () => false,
    check: () => {
      running += 1
      most = Math.max(most, running)
      return new Promise((settle) => {
        waiting.push(() => {
          running -= 1
          settle(false)
        })
      })
    },
    report: () => undefined,
    onMove: () => undefined,
    onDoubt: () => undefined,
    readWork: async () => undefined,
    onMute: () => undefined,
    stalledMs: 60_000,
  })
  const request = { received: () => 0, canMove: () => false, end: () => undefined }
  for (let replica = 0; replica < 200; replica++) silence.watch({ endpoint: { ...endpoint, id: `r${replica}` }, ...request })
  for (let second = 0; second < 20; second++) {
    nowMs += 1000
    silence.tick()
    if (second % 3 === 2) for (const end of waiting.splice(0)) end()
    await new Promise(setImmediate)
  }
  expect(most).toBe(64)
})
