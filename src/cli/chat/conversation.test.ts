import { beforeEach, describe, expect, test } from 'vitest'
import { Conversation } from './conversation.ts'

let conversation: Conversation
beforeEach(() => {
  conversation = new Conversation()
})

/** Asks, and has it answered. */
function talk(question: string, answer: string) {
  conversation.ask('m', question)
  conversation.answered(answer)
}

describe('a conversation', () => {
  test('a conversation sends the system prompt, what was said, and the settings as the fields of a request', () => {
    conversation.system = 'Be brief.'
    conversation.set('Top-P', '0.9')
    conversation.set('stop', 'END')
    talk('one', 'two')
    expect(conversation.ask('m', 'three')).toEqual({
      model: 'm',
      top_p: 0.9,
      stop: ['END'],
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'one' },
        { role: 'assistant', content: 'two' },
        { role: 'user', content: 'three' },
      ],
    })
  })

  test('a conversation keeps no question without an answer', () => {
    conversation.ask('m', 'fails')
    expect(conversation.ask('m', 'next').messages).toEqual([{ role: 'user', content: 'next' }])
    talk('stopped at once', '')
    expect(conversation.ask('m', 'next').messages).toEqual([{ role: 'user', content: 'next' }])
  })

  test('a conversation asks the newest question again, answered or not', () => {
    expect(conversation.retake()).toBeUndefined()
    talk('one', 'two')
    expect(conversation.ask('m', conversation.retake() ?? '').messages).toEqual([{ role: 'user', content: 'one' }])
    talk('one', 'two')
    conversation.ask('m', 'fails')
    expect(conversation.retake()).toBe('fails')
    expect(conversation.ask('m', 'fails').messages).toHaveLength(3)
  })

  test('a conversation loses a setting that is set to nothing', () => {
    conversation.set('seed', '7')
    expect(conversation.describe()).toBe('seed  7')
    conversation.set('seed', '')
    expect(conversation.describe()).toMatch(/^nothing is set; \/set takes: system, temperature, /)
  })

  test.each([
    ['temprature', '1', "there is no setting 'temprature'; did you mean 'temperature'?"],
    ['colour', 'red', "there is no setting 'colour'; /set takes: system, temperature"],
    ['top_k', 'many', "top_k is a number, not 'many'"],
  ])('a conversation refuses /set %s %s', (name, value, message) => {
    expect(() => conversation.set(name, value)).toThrow(message)
  })

  test('a conversation is the same after it was saved and loaded', () => {
    conversation.system = 'Be brief.'
    conversation.set('temperature', '0')
    conversation.set('stop', 'END')
    talk('one', 'two')
    const saved = conversation.save('m')
    expect(JSON.parse(saved)).toMatchObject({ model: 'm', temperature: 0, messages: [{}, {}, {}] })
    const other = new Conversation()
    expect(other.load(saved)).toBe(2)
    expect(other.save('m')).toBe(saved)
    expect(other.retake()).toBe('one')
  })

  test.each(['no JSON', '{}', '{"messages":[{"role":"tool","content":"x"}]}', '[]'])(
    'a conversation does not load %s',
    (text) => {
      talk('one', 'two')
      const before = conversation.save('m')
      expect(() => conversation.load(text)).toThrow('it is not a conversation that /save wrote')
      expect(conversation.save('m')).toBe(before)
    },
  )

  test('a conversation is empty after it was forgotten, and keeps its settings', () => {
    conversation.set('seed', '7')
    talk('one', 'two')
    conversation.clear()
    expect(conversation.ask('m', 'x')).toEqual({ model: 'm', seed: 7, messages: [{ role: 'user', content: 'x' }] })
  })
})
