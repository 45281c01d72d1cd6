import { describe, expect, test } from 'vitest'
import {
  branched,
  branchesOf,
  type Conversation,
  choosing,
  countOf,
  createConversation,
  type Message,
  pathOf,
  replaced,
  withMessage,
  without,
} from './conversation.ts'
import { fromFile, toFile } from './formats/file.ts'

const message = (id: string, parent: string | undefined, more: Partial<Message> = {}): Message => ({
  id,
  role: 'user',
  text: id,
  atMs: Number(id.replace(/\D/g, '')),
  ...(parent !== undefined && { parent }),
  ...more,
})
const talk = (...messages: Message[]): Conversation => messages.reduce(withMessage, createConversation('c', 0))
const shown = (conversation: Conversation) => pathOf(conversation).map(({ id }) => id)

describe('a conversation', () => {
  test('a conversation shows the newest branch, and another when it is chosen', () => {
    const both = talk(message('m1', undefined), message('m2', 'm1'), message('m3', 'm2'), message('m4', 'm1'))
    expect(shown(both)).toEqual(['m1', 'm4'])
    const second = both.messages.m2 as Message
    expect(branchesOf(both, second).map(({ id }) => id)).toEqual(['m2', 'm4'])
    expect(shown(choosing(both, second))).toEqual(['m1', 'm2', 'm3'])
  })

  test('what still runs does not bring a deleted message back', () => {
    const gone = without(talk(message('m1', undefined), message('m2', 'm1')), 'm1', true)
    expect(shown(replaced(gone, message('m2', 'm1')))).toEqual([])
  })

  test('also its first message has branches', () => {
    const both = talk(message('m1', undefined), message('m2', 'm1'), message('m3', undefined))
    expect(shown(both)).toEqual(['m3'])
    expect(shown(choosing(both, both.messages.m1 as Message))).toEqual(['m1', 'm2'])
  })

  test('a conversation is named after its first message, in one short line', () => {
    expect(talk(message('m1', undefined, { text: '  Hello\nthere' }), message('m2', 'm1')).title).toBe('Hello')
    expect(talk(message('m1', undefined, { text: 'x'.repeat(100) })).title).toBe(`${'x'.repeat(59)}…`)
    const attachments = [{ kind: 'image', name: 'cat.png', type: 'image/png', data: '' }] as const
    expect(talk(message('m1', undefined, { text: '', attachments })).title).toBe('cat.png')
  })

  test('a conversation branches into one of its own', () => {
    const made = branched(talk(message('m1', undefined), message('m2', 'm1'), message('m3', 'm2')), 'm2', { id: 'd', nowMs: 9 })
    expect([made.id, made.updatedAtMs, shown(made)]).toEqual(['d', 9, ['m1', 'm2']])
  })

  test('a deleted message leaves no text, its followers stay, and all branches can be reached', () => {
    const all = [message('m1', undefined), message('m2', 'm1'), message('m3', 'm2'), message('m4', 'm1')]
    const gone = without(talk(...all), 'm2', false)
    expect(JSON.stringify(gone.messages.m2)).not.toContain('"text":"m2"')
    const branches = branchesOf(gone, gone.messages.m4 as Message)
    expect(branches.map(({ id }) => id)).toEqual(['m3', 'm4'])
    for (const each of branches) expect(shown(choosing(gone, each))).toEqual(['m1', each.id])
    const copy = branched(choosing(gone, gone.messages.m3 as Message), 'm3', { id: 'd', nowMs: 9 })
    expect([shown(copy), countOf(copy), copy.messages.m3?.parent]).toEqual([['m1', 'm3'], 2, 'm1'])
    expect(shown(without(talk(...all), 'm1', true))).toEqual([])
    expect(countOf(without(talk(...all), 'm2', true))).toBe(2)
  })

  test('a conversation ends, even where its branches form a circle', () => {
    const whole = talk(message('m1', undefined), message('m2', 'm1'))
    expect(shown({ ...whole, chosen: { start: 'm1', m1: 'm2', m2: 'm1' } })).toEqual(['m1', 'm2'])
  })
})

describe('a file of conversations', () => {
  test('brings back what was exported', () => {
    const all = [talk(message('m1', undefined), message('m2', 'm1'))]
    expect(fromFile(toFile(all))).toEqual(all)
  })

  test('a file of conversations cannot let tools of the server run without a question', () => {
    const [made] = fromFile(toFile([createConversation('c', 1, { serverTools: { names: ['python', 'files'], asks: false } })]))
    expect(made?.settings.serverTools).toEqual({ names: ['python', 'files'], asks: true })
  })

  test('an answer of a file does not run here', () => {
    const run = { id: 'r', bytes: 9 }
    const [made] = fromFile(toFile([talk(message('m1', undefined, { role: 'assistant', state: 'running', run }))]))
    expect(made?.messages.m1).toEqual(message('m1', undefined, { role: 'assistant', state: 'broken' }))
  })

  test.each([
    ['not json', /is not JSON/],
    ['{"format":"other"}', /"format" must be "dragoman-conversations"/],
    ['{"format":"dragoman-conversations","conversations":[{"id":"x"}]}', /Conversation 1 of this file needs messages, and an id/],
    [toFile([talk(message('m1', undefined)), null as never]), /Conversation 2 of this file .* nothing was imported/],
    ['null', /has no conversations/],
  ])('%s is refused', (text, words) => {
    expect(() => fromFile(text)).toThrow(words)
  })
})
