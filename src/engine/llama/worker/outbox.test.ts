import { describe, expect, test } from 'vitest'
import { Outbox } from './outbox.ts'

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

describe('an outbox', () => {
  test('an outbox sends everything of one turn of the event loop in one message, in order', async () => {
    const sent: (readonly number[])[] = []
    const outbox = new Outbox<number>((items) => sent.push(items))
    outbox.add(1)
    await Promise.resolve()
    outbox.add(2)
    process.nextTick(() => outbox.add(3))
    expect(sent).toEqual([])
    await turn()
    expect(sent).toEqual([[1, 2, 3]])
  })

  test('an outbox sends later reports in the next message', async () => {
    const sent: (readonly number[])[] = []
    const outbox = new Outbox<number>((items) => sent.push(items))
    outbox.add(1)
    await turn()
    outbox.add(2)
    await turn()
    expect(sent).toEqual([[1], [2]])
  })
})
