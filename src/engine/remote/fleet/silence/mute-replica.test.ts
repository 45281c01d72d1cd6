import { describe, expect, test } from 'vitest'
import { watched } from './__fixtures__/watched.ts'

describe('on a replica that passes its checks and gives nobody anything, while another one gives tokens,', () => {
  test.each([
    { usual: 1, moves: 5000 },
    { usual: 2, moves: 6000 },
  ])('a request of usually $usual s to its first token moves after $moves ms', async ({ usual, moves }) => {
    const { learn, watch, passBusy, movedAt, endedWith } = watched()
    const startMs = await learn(usual)
    watch()
    await passBusy(20)
    expect(movedAt[0]).toBeGreaterThanOrEqual(startMs + moves)
    expect(movedAt[0]).toBeLessThanOrEqual(startMs + moves + 1000)
    expect([movedAt.length, endedWith]).toEqual([1, ['silent']])
  })

  test('a request is judged by the time to read its whole prompt, since nobody knows what is still cached', async () => {
    const { learn, watch, passBusy, movedAt } = watched()
    const startMs = await learn(1)
    // Usually 8 s.
    watch(800, { cachedTokens: 799 })
    await passBusy(23)
    expect(movedAt).toEqual([])
    await passBusy(2)
    expect(movedAt[0]).toBeGreaterThanOrEqual(startMs + 24_000)
  })

  test('it is ejected when it has lost two requests in a row, and again with each further one', async () => {
    const { learn, watch, passBusy, muted } = watched()
    await learn(1)
    watch()
    await passBusy(8)
    expect(muted).toEqual([])
    watch()
    await passBusy(8)
    expect(muted).toEqual(['a'])
    watch()
    await passBusy(8)
    expect(muted).toEqual(['a', 'a'])
  })

  test('an answer in between shows that it lives, and a reply that only begins does not', async () => {
    for (const isAnswer of [true, false]) {
      const { learn, watch, passBusy, muted } = watched()
      await learn(1)
      watch()
      await passBusy(8)
      const lives = watch()
      lives.begun()
      if (isAnswer) lives.ended()
      else await passBusy(12)
      watch()
      await passBusy(8)
      expect([isAnswer, muted]).toEqual([isAnswer, isAnswer ? [] : ['a', 'a']])
    }
  })

  test('a request that cannot move, and is answered late, is an answer', async () => {
    const { learn, watch, passBusy, muted } = watched()
    await learn(1)
    const late = watch(100, { canMove: () => false })
    await passBusy(8)
    late.begun()
    expect(late.ended()).toBe(false)
    watch()
    await passBusy(8)
    expect(muted).toEqual([])
  })

  test('bytes of any reply keep all of its requests', async () => {
    const { learn, watch, passBusy, state, movedAt } = watched()
    await learn(1)
    const reading = watch(100, { received: () => state.bytes })
    watch(100, { received: () => 0 })
    for (let round = 0; round < 10; round++) {
      state.bytes += 10
      await passBusy(4)
    }
    expect(movedAt).toEqual([])
    reading.ended()
  })

  test('requests that their callers give up after that time, or that reach a limit, count as well', async () => {
    const { learn, watch, passBusy, muted } = watched()
    await learn(1)
    const stops = ['caller', 'limit'] as const
    for (const stop of stops) {
      // Nobody else could take it.
      const one = watch(100, { canMove: () => false, isBatching: false })
      await passBusy(stop === 'caller' ? 121 : 2)
      expect(one.ended(stop)).toBe(true)
    }
    expect(muted).toEqual(['a'])
  })

  test('a reply that has stopped moves after ten seconds, and one that cannot be continued is given up after a minute', async () => {
    for (const canMove of [true, false]) {
      const { watch, passBusy, state, movedAt, endedWith } = watched()
      state.canMove = canMove
      watch().begun()
      await passBusy(70)
      expect([canMove, Math.floor((movedAt[0] ?? 0) / 1000), endedWith]).toEqual(
        canMove ? [true, 10, ['silent']] : [false, 60, ['truncated']],
      )
    }
  })

  test('a request stays for two minutes where prompts are read one after the other, and ten times as long as usual', async () => {
    const { learn, watch, passBusy, movedAt } = watched()
    const startMs = await learn(1)
    watch(100, { isBatching: false })
    await passBusy(119)
    expect(movedAt).toEqual([])
    await passBusy(2)
    expect(movedAt[0]).toBeGreaterThanOrEqual(startMs + 120_000)
  })
})

test('a prompt of a minute stays where the numbers of the engine show that it works', async () => {
  const { learn, watch, passBusy, state, movedAt, muted } = watched()
  await learn(1)
  const one = watch()
  for (let second = 0; second < 60; second++) {
    state.work = `${second}`
    await passBusy(1)
  }
  expect(movedAt).toEqual([])
  expect(one.ended('caller')).toBe(false)
  expect(muted).toEqual([])
})

test('where the numbers of the engine stand still, no other replica has to show that it is at fault', async () => {
  const { learn, watch, pass, state, movedAt, muted } = watched()
  const startMs = await learn(1)
  state.work = 'stands'
  watch()
  watch()
  await pass(20)
  expect(movedAt).toHaveLength(2)
  expect(movedAt[0]).toBeGreaterThan(startMs + 5000)
  expect(movedAt[0]).toBeLessThan(startMs + 8000)
  expect(muted).toEqual(['a'])
})

test('while the replica gives others tokens, a prompt of a minute stays', async () => {
  const { learn, watch, passBusy, movedAt, muted } = watched()
  await learn(1)
  const slow = watch()
  for (let round = 0; round < 15; round++) {
    const quick = watch()
    await passBusy(2)
    quick.begun()
    await passBusy(2)
    quick.ended()
  }
  expect(movedAt).toEqual([])
  expect(slow.ended('caller')).toBe(false)
  expect(muted).toEqual([])
})

test('where no other replica gives tokens either, nothing is known: the request stays, and its caller may leave with it', async () => {
  const { learn, watch, pass, movedAt, muted } = watched()
  await learn(1)
  const [patient, hasty] = [watch(), watch()]
  await pass(3)
  expect(hasty.ended('caller')).toBe(false)
  await pass(60)
  expect(movedAt).toEqual([])
  expect(patient.ended('caller')).toBe(true)
  expect(muted).toEqual([])
})

test('a reply that stops for a minute moves, although its replica gives others tokens', async () => {
  const { watch, passBusy, movedAt, muted } = watched()
  watch().begun()
  for (let second = 0; second < 62; second++) {
    const one = watch()
    one.begun()
    one.ended()
    await passBusy(1)
  }
  expect(movedAt).toEqual([60_000])
  expect(muted).toEqual([])
})
