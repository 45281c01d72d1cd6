import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { AppError } from '../../../contract/errors.ts'
import type { FoundEndpoint, SourceListener } from '../endpoints/source.ts'
import { type MemberChange, Membership } from './membership.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const never = new AbortController().signal
const server = (name: string, more = {}): FoundEndpoint => ({ url: `http://${name}/v1`, weight: 1, ...more })
const names = (endpoints: readonly { readonly url: string }[]) => endpoints.map(({ url }) => new URL(url).host)

/** Members that a test changes by hand, and what followed. */
function open() {
  let listener: SourceListener | undefined
  const changes: Record<keyof MemberChange, string[]>[] = []
  const drained: string[] = []
  const members = new Membership({
    source: {
      follow(given) {
        listener = given
        return { stop: () => undefined }
      },
    },
    drainMs: 30_000,
    holdMs: 60_000,
    onChange: ({ added, changed, replaced, gone }) =>
      void changes.push({ added: names(added), changed: names(changed), replaced: names(replaced), gone: names(gone) }),
    onDrained: ({ url }) => void drained.push(new URL(url).host),
  })
  const known = members.start(never)
  return {
    members,
    known,
    changes,
    drained,
    tell: (...found: readonly FoundEndpoint[]) => listener?.onSet(found),
    fail: (reason: string) => listener?.onFailure(reason),
  }
}

test('a set is compared with the last one', async () => {
  const { members, known, changes, tell } = open()
  tell(server('a'), server('b'))
  await known
  tell(server('a'), server('b'))
  tell(server('b', { weight: 2 }), server('c', { isSpare: true }))
  expect(changes).toEqual([
    { added: ['a', 'b'], changed: [], replaced: [], gone: [] },
    { added: ['c'], changed: ['b'], replaced: [], gone: ['a'] },
  ])
  expect([...members.endpoints.values()]).toMatchObject([{ weight: 2 }, { id: 'http://c/v1' }])
  expect([...members.spareIds]).toEqual(['http://c/v1'])
  expect(members.start(never)).toBeUndefined()
})

test('the time of a server that has left runs out, unless it comes back', () => {
  const { drained, tell } = open()
  tell(server('a'), server('b'), server('c'))
  tell(server('c'))
  vi.advanceTimersByTime(29_999)
  expect(drained).toEqual([])
  tell(server('b'), server('c'))
  vi.advanceTimersByTime(60_000)
  expect(drained).toEqual(['a'])
})

test('a connection is not closed while another server of the same origin uses it', () => {
  const { drained, tell } = open()
  tell(server('a'), { url: 'http://a/other/v1', weight: 1 })
  tell(server('a'))
  vi.advanceTimersByTime(60_000)
  expect(drained).toEqual([])
})

test('without servers, requests wait for the first that is reached', async () => {
  const { members, tell } = open()
  tell()
  expect(members.isHolding).toBe(true)
  let isHeld = true
  const held = members.held(never)?.then(() => {
    isHeld = false
  })
  tell(server('a'))
  await vi.advanceTimersByTimeAsync(1000)
  // It is there, but nobody has reached it.
  expect([members.isHolding, isHeld]).toEqual([true, true])
  members.onReached()
  await held
  expect(members.isHolding).toBe(false)
  expect(members.held(never)).toBeUndefined()
})

test('a request waits for its time, from when it came', async () => {
  const { members, tell } = open()
  tell()
  const first = expect(members.held(never)).rejects.toMatchObject({ code: 'model-unavailable', retryAfterMs: 5000 })
  await vi.advanceTimersByTimeAsync(40_000)
  const second = members.held(never)?.then(() => 'reached')
  await vi.advanceTimersByTimeAsync(40_000)
  await first
  members.onReached()
  expect(await second).toBe('reached')
})

test('a request that is cancelled waits no longer', async () => {
  const { members, tell } = open()
  tell()
  const gone = new AbortController()
  const held = expect(members.held(gone.signal)).rejects.toThrow('the client left')
  gone.abort(new Error('the client left'))
  await held
  expect(vi.getTimerCount()).toBe(0)
})

test('a set that cannot be found out fails who waits for it, and only them', async () => {
  const { members, known, changes, tell, fail } = open()
  const failed = expect(known).rejects.toThrow('the servers of this model are not known: dns: a: SERVFAIL')
  fail('dns: a: SERVFAIL')
  await failed
  const later = members.start(never)
  tell(server('a'))
  await later
  fail('dns: a: SERVFAIL')
  expect(changes).toHaveLength(1)
  expect(members.endpoints.size).toBe(1)
})

test('the end of a model ends all waits and times', async () => {
  const { members, drained, tell } = open()
  tell(server('a'))
  tell()
  const held = expect(members.held(never)).rejects.toThrow('unloaded')
  members.stop(new AppError('model-unavailable', 'the model was unloaded'))
  await held
  vi.advanceTimersByTime(60_000)
  expect(drained).toEqual([])
})
