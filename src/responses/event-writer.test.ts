import { expect, onTestFinished, test, vi } from 'vitest'
import type { ResponseEvent } from '../dialect/openai-responses/encode/encoder.ts'
import { EventWriter } from './event-writer.ts'

const eventOf = (sequence_number: number) => ({ type: 'some', sequence_number }) as unknown as ResponseEvent

function open(store: () => Promise<void> = async () => undefined) {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const batches: number[][] = []
  const failures: unknown[] = []
  const addEvents = (_id: string, events: readonly { readonly sequence: number }[]) => {
    batches.push(events.map(({ sequence }) => sequence))
    return store()
  }
  const writer = new EventWriter({ id: 'resp_1', responses: { addEvents }, onFailure: (error) => failures.push(error) })
  return { writer, batches, failures }
}

test('events are stored a quarter of a second after the first, together and in order', async () => {
  const { writer, batches } = open()
  writer.add([eventOf(0), eventOf(1)])
  vi.advanceTimersByTime(249)
  writer.add([eventOf(2)])
  expect(batches).toEqual([])
  vi.advanceTimersByTime(1)
  await writer.flush()
  expect(batches).toEqual([[0, 1, 2]])
})

test('a flush stores what waits, once, and nothing where nothing waits', async () => {
  const { writer, batches } = open()
  await writer.flush()
  writer.add([eventOf(0)])
  await writer.flush()
  vi.advanceTimersByTime(1000)
  await writer.flush()
  expect(batches).toEqual([[0]])
})

test('a failure is reported, and the next events are stored', async () => {
  const broken = new Error('no room')
  let fails = true
  const { writer, batches, failures } = open(() => (fails ? Promise.reject(broken) : Promise.resolve()))
  writer.add([eventOf(0)])
  await writer.flush()
  fails = false
  writer.add([eventOf(1)])
  await writer.flush()
  expect([batches, failures]).toEqual([[[0], [1]], [broken]])
})
