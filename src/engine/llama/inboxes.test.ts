import { describe, expect, test } from 'vitest'
import type { RequestReport } from './channel/ipc.ts'
import { Inbox } from './inboxes.ts'

const text = (index: number): RequestReport => ({ type: 'text', id: 'r', choice: 0, text: String(index), madeMs: 0 })

function createInbox(): { inbox: Inbox; flow: string[] } {
  const flow: string[] = []
  return { inbox: new Inbox((how) => flow.push(how)), flow }
}

describe('Inbox', () => {
  test('Inbox reports come out in order, also those that were awaited first', async () => {
    const { inbox } = createInbox()
    const first = inbox.next()
    inbox.push(text(1))
    inbox.push(text(2))
    expect([await first, await inbox.next()]).toEqual([text(1), text(2)])
  })

  test('a failure is thrown after everything before it was read', async () => {
    const { inbox } = createInbox()
    inbox.push(text(1))
    inbox.fail(new Error('gone'))
    expect(await inbox.next()).toEqual(text(1))
    await expect(inbox.next()).rejects.toThrow('gone')
  })

  test('a slow reader pauses the worker once, and resumes it once', async () => {
    const { inbox, flow } = createInbox()
    for (let index = 0; index < 100; index++) inbox.push(text(index))
    expect(flow).toEqual(['pause'])
    for (let index = 0; index < 100; index++) await inbox.next()
    expect(flow).toEqual(['pause', 'resume'])
  })
})
