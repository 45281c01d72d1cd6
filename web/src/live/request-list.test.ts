import { expect, test } from 'vitest'
import { RequestList } from './request-list.ts'
import type { WatchedRequest } from './wire.ts'

const request = (id: string, at: number, more: Partial<WatchedRequest> = {}): WatchedRequest => ({
  id,
  request_id: id,
  key: 'k',
  route: '/',
  state: 'generating',
  started_at_ms: at,
  ...more,
})

test('the newest request is first, and a late state does not undo an end', () => {
  const list = new RequestList()
  list.take([request('a', 1), request('b', 3), request('c', 2)])
  list.take([request('a', 1, { state: 'done', ended_at_ms: 9 })])
  list.take([request('a', 1)])
  expect(list.all.map(({ id, state }) => `${id} ${state}`)).toEqual(['b generating', 'c generating', 'a done'])
})

test('what ran before a new stream, and is not in it, is not shown as running', () => {
  const list = new RequestList()
  list.take([request('a', 1), request('b', 2, { state: 'done', ended_at_ms: 3 }), request('c', 3)])
  list.forgetRunning()
  list.take([request('c', 3)])
  expect(list.all.map(({ id }) => id)).toEqual(['c', 'b'])
})

test('the oldest of more than ten thousand go', () => {
  const list = new RequestList()
  list.take(Array.from({ length: 10_010 }, (_, index) => request(`${index}`, index)))
  expect([list.all.length, list.all[0]?.id, list.all.at(-1)?.id]).toEqual([10_000, '10009', '10'])
})
