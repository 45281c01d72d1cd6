import { expect, test } from 'vitest'
import { CheckpointRoom, Checkpoints } from './checkpoints.ts'

/** A context whose sequences have states of ten bytes, and the tokens that a test sets. */
function fakeContext() {
  const lengths = new Map<number, number>()
  const library = {
    lastPosition: (_: unknown, id: number) => (lengths.get(id) ?? 0) - 1,
    stateSize: () => 10,
    getState: (_: unknown, state: Uint8Array) => state.length,
    setState: (_: unknown, state: Uint8Array) => state.length,
    removeTokens: (_: unknown, id: number, from: number) => {
      lengths.set(id, from)
      return true
    },
  }
  const context = { library, memory: {}, native: {} } as never
  return { context, lengths }
}

function open({ id = 0, bytes = 1000 } = {}) {
  const { context, lengths } = fakeContext()
  const points = new Checkpoints(context, id, { room: new CheckpointRoom(bytes) })
  const takeAt = (...tokens: number[]) => {
    for (const count of tokens) {
      lengths.set(id, count)
      points.take(count - 1)
    }
  }
  return { points, takeAt, lengths, context }
}

test('a prompt is cut in front of its last message, and near its end', () => {
  expect(open().points.stopsOf({ tokens: 1400, lastMessage: { start: 1288, isOfUser: false } }, 0)).toEqual([1288, 1396])
  expect(open().points.stopsOf({ tokens: 1400, lastMessage: undefined }, 0)).toEqual([1396])
})

test('a prompt is cut where the last one diverged from the sequence', () => {
  const { points } = open()
  expect(points.restore(900)).toBe(0)
  expect(points.stopsOf({ tokens: 1400, lastMessage: { start: 1288, isOfUser: false } }, 0)).toEqual([900, 1288, 1396])
  expect(points.stopsOf({ tokens: 1400, lastMessage: { start: 1288, isOfUser: false } }, 1300)).toEqual([1396])
})

test('a checkpoint that spares few tokens is not taken', () => {
  const { points, takeAt } = open()
  expect(points.stopsOf({ tokens: 30, lastMessage: { start: 20, isOfUser: false } }, 0)).toEqual([])
  takeAt(1280)
  expect(points.stopsOf({ tokens: 1400, lastMessage: { start: 1288, isOfUser: false } }, 1280)).toEqual([1396])
  expect(points.stopsOf({ tokens: 1400, lastMessage: { start: 1380, isOfUser: false } }, 1280)).toEqual([1380])
})

test('the newest checkpoint that a prompt shares is restored', () => {
  const { points, takeAt, lengths } = open()
  takeAt(500, 900, 1300)
  points.forgetFrom(1000)
  expect(points.restore(1000)).toBe(900)
  expect(lengths.get(0)).toBe(900)
})

test('sequences share room: the one idle longest drops its checkpoints first', () => {
  const { context, lengths } = fakeContext()
  const room = new CheckpointRoom(40)
  const [idle, busy] = [new Checkpoints(context, 0, { room }), new Checkpoints(context, 1, { room })]
  const take = (points: Checkpoints, id: number, tokens: number) => {
    lengths.set(id, tokens)
    points.take(tokens - 1)
  }
  for (const tokens of [100, 200, 300]) take(idle, 0, tokens)
  for (const tokens of [100, 200, 300]) take(busy, 1, tokens)
  expect([idle.bytes, busy.bytes]).toEqual([10, 30])
  // Its newest is the last to go.
  expect(idle.restore(1000)).toBe(300)
  for (const tokens of [400, 500]) take(busy, 1, tokens)
  expect([idle.bytes, busy.bytes]).toEqual([0, 40])
  // The first and the newest stay.
  busy.forgetFrom(250)
  expect(busy.restore(1000)).toBe(100)
})

test('a state that is larger than the room is not taken', () => {
  const { points, takeAt } = open({ bytes: 9 })
  takeAt(100)
  expect(points.bytes).toBe(0)
})

test('behind a checkpoint for a draft, a sequence returns to it, and the next one takes its place', () => {
  const { points, takeAt, lengths } = open()
  takeAt(500)
  for (const tokens of [700, 710]) {
    lengths.set(0, tokens)
    expect(points.takeForDraft(tokens - 1)).toBe(true)
  }
  expect(points.bytes).toBe(20)
  expect(points.saved.map(({ last }) => last + 1)).toEqual([500])
  points.forgetFrom(715)
  expect(points.reach(715)).toBe(710)
  expect(points.restore(715)).toBe(710)
  points.forgetFrom(709)
  expect(points.reach(709)).toBe(500)
})

test('without room for a checkpoint, nothing is drafted', () => {
  const { points, lengths } = open({ bytes: 5 })
  lengths.set(0, 700)
  expect(points.takeForDraft(699)).toBe(false)
})

test('of a long prompt, the beginning of its last message is kept, and not where it was cut for its length', () => {
  const { points, takeAt, lengths } = open({ bytes: 50 })
  for (const tokens of [8192, 16_384]) {
    lengths.set(0, tokens)
    points.takeAtInterval(tokens - 1)
  }
  takeAt(24_000, 24_200, 24_400, 24_600, 24_800)
  expect(points.saved.map(({ last }) => last + 1)).toEqual([24_000, 24_200, 24_600, 24_800])
  points.forgetFrom(24_100)
  expect(points.restore(24_100)).toBe(24_000)
})

test('after many calls of tools, the point where the answer to the question began is kept', () => {
  const { points, takeAt, lengths } = open({ bytes: 60 })
  takeAt(1000, 1400)
  const lastMessage = { start: 2000, isOfUser: true }
  expect(points.stopsOf({ tokens: 2100, lastMessage }, 1400)).toEqual([2000, 2096])
  takeAt(2000, 2096)
  for (let tokens = 3000; tokens < 9000; tokens += 500) {
    points.stopsOf({ tokens, lastMessage: { start: tokens - 50, isOfUser: false } }, tokens - 100)
    takeAt(tokens - 50, tokens)
  }
  expect(points.saved.map(({ last }) => last + 1)).toEqual([1000, 1400, 2096, 8450, 8500])
  points.forgetFrom(2100)
  expect(points.restore(2100)).toBe(2096)
  expect(lengths.get(0)).toBe(2096)
})
