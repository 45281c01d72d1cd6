import { describe, expect, test } from 'vitest'
import { type Conversation, createConversation, type Message, pathOf, replaced, withMessage, without } from '../conversation.ts'
import { type Change, changed, changeOf, changesNothing } from './change.ts'

const message = (id: string, parent: string | undefined, more: Partial<Message> = {}): Message => ({
  id,
  role: 'user',
  text: id,
  atMs: Number(id.replace(/\D/g, '')),
  ...(parent !== undefined && { parent }),
  ...more,
})
const begun = [message('m1', undefined), message('m2', 'm1', { role: 'assistant' })].reduce(
  withMessage,
  createConversation('c', 0),
)

/** What three tabs, and the one that runs an answer, do to the same state. */
const acts: Readonly<Record<string, (before: Conversation) => Conversation>> = {
  'a message': (before) => withMessage(before, message('m3', 'm2')),
  'another message': (before) => withMessage(before, message('m4', 'm2')),
  'a new title': (before) => ({ ...before, title: 'renamed' }),
  'a pin': (before) => ({ ...before, isPinned: true }),
  'a setting': (before) => ({ ...before, settings: { ...before.settings, system: 'Be brief.' } }),
  'a deleted message': (before) => without(before, 'm2', false),
}

function* ordersOf<T>(all: readonly T[]): Generator<readonly T[]> {
  if (all.length === 0) yield []
  for (const [index, first] of all.entries()) {
    for (const rest of ordersOf(all.filter((_, at) => at !== index))) yield [first, ...rest]
  }
}

describe('the changes of several tabs', () => {
  test('in every order, all of them are kept', () => {
    const changes = Object.values(acts).map((act) => changeOf(begun, act(begun)))
    let orders = 0
    for (const order of ordersOf(changes)) {
      const { chosen, ...end } = order.reduce(changed, begun)
      expect(end).toMatchObject({ title: 'renamed', isPinned: true, settings: { system: 'Be brief.' } })
      expect(Object.keys(end.messages)).toEqual(expect.arrayContaining(['m1', 'm2', 'm3', 'm4']))
      expect(end.messages.m2).toEqual({ id: 'm2', parent: 'm1', role: 'assistant', text: '', atMs: 2, isDeleted: true })
      // Of two branches, the one of the later tab is shown.
      expect(pathOf({ ...end, chosen }).map(({ id }) => id)).toEqual(['m1', chosen.m2])
      orders += 1
    }
    expect(orders).toBe(720)
  })

  test('a tab that has not heard of an end or a deletion changes neither', () => {
    const run = { id: 'r', bytes: 9 }
    const running = replaced(begun, message('m2', 'm1', { role: 'assistant', state: 'running', run, text: 'half' }))
    const late = (text: string) => changeOf(begun, replaced(running, { ...(running.messages.m2 as Message), text }))
    const ended = replaced(running, { ...(running.messages.m2 as Message), state: 'done', text: 'all of it' })
    expect(changed(ended, late('half of')).messages.m2?.text).toBe('all of it')
    expect(changed(without(ended, 'm2', false), late('half of')).messages.m2?.isDeleted).toBe(true)
    // The person continues it, which is another run.
    const again = replaced(ended, { ...(running.messages.m2 as Message), run: { id: 's', bytes: 0 } })
    expect(changed(ended, changeOf(ended, again)).messages.m2?.state).toBe('running')
  })

  test('a field that is absent now is removed', () => {
    const pinned = { ...begun, isPinned: true }
    const { isPinned: _, ...unpinned } = pinned
    const change: Change = changeOf(pinned, unpinned)
    expect(changed({ ...pinned, title: 'other' }, change)).toEqual({ ...begun, title: 'other' })
    expect(changesNothing(change)).toBe(false)
    expect(changesNothing(changeOf(pinned, pinned))).toBe(true)
  })
})
