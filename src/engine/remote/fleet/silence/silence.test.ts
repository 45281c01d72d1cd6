import { describe, expect, test } from 'vitest'
import { isLost } from './lost.ts'
import { Silence, type SilentRequest, silenceTickMs } from './silence.ts'

const situation = {
  nowMs: 20_000,
  isEjected: false,
  downMs: 15_000,
  isCheckOverdue: false,
  isMute: false,
  stalledMs: 60_000,
  p95Ms: 1000,
}
const request = { beganMs: 9000, hasToken: false, progressMs: undefined, hasLeft: false }
/** Its last byte came 10 seconds ago. */
const begun = { hasToken: true, progressMs: 10_000 }

describe('a request is lost', () => {
  test.each<[string, boolean, Partial<Parameters<typeof isLost>[0] & Parameters<typeof isLost>[1]>]>([
    ['when a check failed and it has waited twice the usual time', true, { p95Ms: 5500 }],
    ['not before twice the usual time', false, { p95Ms: 5501 }],
    ['however fast the model is', true, { beganMs: 14_000, p95Ms: 100 }],
    ['when a check is overdue and it has waited twice the usual time', true, { downMs: undefined, isCheckOverdue: true }],
    ['not by an overdue check before that', false, { downMs: undefined, isCheckOverdue: true, p95Ms: 5501 }],
    ['not while the replica answers its checks', false, { downMs: undefined, p95Ms: 1 }],
    ['at once when the replica is ejected', true, { isEjected: true, beganMs: 14_999 }],
    ['not by a failure before it began: it is a trial', false, { isEjected: true, beganMs: 15_001 }],
    ['not by an ejection whose replica answers its checks', false, { isEjected: true, downMs: undefined }],
    ['when the replica gives nobody anything, whatever its checks say', true, { downMs: undefined, isMute: true }],
    ['with its reply, when the replica gives nobody anything', true, { ...begun, downMs: undefined, isMute: true }],
    ['not for that, while bytes come', false, { ...begun, isMute: true, progressMs: 10_001 }],
    ['with its reply, when that has stopped for very long', true, { ...begun, downMs: undefined, stalledMs: 10_000 }],
    ['with its reply, however short that time is', true, { ...begun, downMs: undefined, progressMs: 19_000, stalledMs: 1000 }],
    ['not with its reply before that', false, { ...begun, downMs: undefined, stalledMs: 10_001 }],
    ['at once when the replica leaves', true, { hasLeft: true, beganMs: 19_999, downMs: undefined }],
    ['not while it makes progress', false, { isEjected: true, hasLeft: true, progressMs: 10_001 }],
    ['when its progress has stopped for 10 seconds', true, { isEjected: true, progressMs: 10_000 }],
    ['when its progress has stopped for twice the usual time', true, { progressMs: 9000, beganMs: 0, p95Ms: 5500 }],
    ['not when its progress stopped later', false, { progressMs: 9001, beganMs: 0, p95Ms: 5500 }],
    ['with its reply, when the replica is ejected and no byte came for 10 seconds', true, { ...begun, isEjected: true }],
    ['not with its reply, while bytes come', false, { ...begun, isEjected: true, progressMs: 10_001 }],
    ['not with its reply, by one failed check', false, { ...begun, beganMs: 0, progressMs: 0 }],
    ['not with its reply, by an overdue check', false, { ...begun, downMs: undefined, isCheckOverdue: true, progressMs: 0 }],
    ['not with its reply, when the replica leaves', false, { ...begun, hasLeft: true }],
  ])('a request is lost %s', (_, expected, changes) => {
    const all = { ...request, ...situation, ...changes }
    expect(isLost(all, all)).toBe(expected)
  })
})

const endpoint = { id: 'a', url: 'http://a/v1', weight: 1 }

/** One replica, of which the test plays the checks; `pass` lets seconds pass. */
function watched() {
  let nowMs = 0
  const state = {
    answers: true,
    isEjected: false,
    canMove: true,
    canMoveFromDead: false,
    bytes: 0,
    work: undefined as string | undefined,
  }
  const checksAt: number[] = []
  const movedAt: number[] = []
  const endedWith: string[] = []
  const doubtsAt: number[] = []
  const muted: string[] = []
  const pending: { readonly atMs: number; settle(isOk: boolean): void }[] = []
  const silence = new Silence({
    now: () => nowMs,
    isEjected: () => state.isEjected,
    check: () => {
      checksAt.push(nowMs)
      return new Promise((settle) => void pending.push({ atMs: nowMs + (state.answers ? 0 : 2500), settle }))
    },
    report: (id, isOk) => {
      failures = isOk ? 0 : failures + 1
      state.isEjected ||= failures >= 3
      silence.onCheck(id, isOk)
    },
    onMove: () => undefined,
    onDoubt: () => void doubtsAt.push(nowMs),
    readWork: async () => state.work,
    onMute: (id) => void muted.push(id),
    stalledMs: 60_000,
  })
  let failures = 0
  const settle = async () => {
    for (const one of pending.splice(0)) {
      if (one.atMs > nowMs) pending.push(one)
      else one.settle(state.answers)
    }
    await new Promise(setImmediate)
  }
  const pass = async (seconds: number) => {
    for (let tick = 0; tick < seconds * 4; tick++) {
      nowMs += silenceTickMs
      await settle()
      silence.tick()
      await settle()
    }
  }
  const watch = (promptTokens = 100, options: Partial<SilentRequest> = {}) =>
    silence.watch({
      endpoint,
      promptTokens,
      isBatching: true,
      received: () => state.bytes,
      canMove: (isDead) => state.canMove || (isDead && state.canMoveFromDead),
      end: ({ failure }) => {
        movedAt.push(nowMs)
        endedWith.push(failure.type)
      },
      ...options,
    })
  /** Another replica gives a token. */
  const other = () => {
    const one = watch(100, { endpoint: { ...endpoint, id: 'b' }, received: () => 0 })
    one.begun()
    one.ended()
  }
  /** Lets seconds pass in which another replica gives tokens. */
  const passBusy = async (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      await pass(1)
      other()
    }
  }
  /** The model has taken that long for 20 prompts. */
  const learn = async (seconds: number) => {
    silence.learnCheck(2)
    for (let prompt = 0; prompt < 20; prompt++) {
      const one = watch()
      await pass(seconds)
      one.begun()
      one.ended()
    }
    checksAt.length = 0
    return nowMs
  }
  /** Seconds without a tick. */
  const skip = (seconds: number) => {
    nowMs += seconds * 1000
  }
  return { state, pass, passBusy, skip, watch, other, learn, silence, checksAt, movedAt, endedWith, doubtsAt, muted }
}

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
