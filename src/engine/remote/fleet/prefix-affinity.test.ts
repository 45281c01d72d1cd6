import { describe, expect, test } from 'vitest'
import { assistant, call, image, reasoning, text as said } from '../../../../test/support/parts.ts'
import { type Message, type Prompt, plainChat, type Tool } from '../../../contract/request.ts'
import { affinityKeys } from './prefix-affinity.ts'

const system = text('system', 'be brief')

describe('a conversation', () => {
  test('shares the longest key of its earlier turn', () => {
    const first = affinityKeys(chat([system, text('user', 'hello')]))
    const second = affinityKeys(chat([system, text('user', 'hello'), answer('hi'), text('user', 'more')]))
    expect(first).toHaveLength(2)
    expect(second).toHaveLength(4)
    expect(second.slice(2)).toEqual(first)
  })

  test('has at most eight keys, those of its last messages', () => {
    const messages = Array.from({ length: 30 }, (_, index) => text('user', `${index}`))
    const keys = affinityKeys(chat(messages))
    expect(keys).toHaveLength(8)
    expect(new Set(keys).size).toBe(8)
    expect(affinityKeys(chat(messages.slice(0, 28)))[0]).toBe(keys[2])
  })

  test.each<{ name: string; messages: Message[]; tools?: { name: string }[] }>([
    { name: 'another text', messages: [system, text('user', 'hullo')] },
    { name: 'another role', messages: [system, text('developer', 'hello')] },
    { name: 'another start', messages: [text('system', 'be long'), text('user', 'hello')] },
    { name: 'other tools', messages: [system, text('user', 'hello')], tools: [{ name: 'f' }] },
    { name: 'an image', messages: [system, { role: 'user', content: [said('hello'), image('AAAA')] }] },
  ])('with $name is another', ({ messages, tools = [] }) => {
    const keys = affinityKeys(chat([system, text('user', 'hello')]))
    expect(keys).not.toContain(affinityKeys(chat(messages, tools))[0])
  })

  test('keeps its keys when a search adds a tool', () => {
    const of = (...tools: Tool[]) => affinityKeys(chat([text('user', 'hello')], tools))
    expect(of({ name: 'f' }, { name: 'g', isDeferred: true })).toEqual(of({ name: 'f' }))
  })

  test('keeps its keys without ids and reasoning', () => {
    const of = (id: string, thought: string) => affinityKeys(chat([assistant(reasoning(thought), call(id, 'f', '{}'))]))
    expect(of('call_1', 'hm')).toEqual(of('call_2', ''))
  })

  test('distinguishes images by their hashes', () => {
    const of = (base64: string) => affinityKeys(chat([{ role: 'user', content: [image(base64)] }]))
    expect(of('AAAA')).toEqual(of('AAAA'))
    expect(of('AAAA')).not.toEqual(of('AAAB'))
  })
})

test.each<{ name: string; of: (length: number) => Prompt }>([
  { name: 'a text', of: (length) => ({ type: 'text', text: 'abcdefgh'.repeat(length).slice(0, length * 4) }) },
  { name: 'tokens', of: (length) => ({ type: 'tokens', tokens: Array.from({ length }, (_, index) => index) }) },
  { name: 'a gap', of: (length) => ({ type: 'infill', prefix: 'abcdefgh'.repeat(length).slice(0, length * 4), suffix: '}' }) },
])('$name that grows keeps the keys of its complete blocks', ({ of }) => {
  const short = affinityKeys(of(2100))
  const long = affinityKeys(of(2600))
  expect(short).toHaveLength(5)
  expect(long).toHaveLength(6)
  expect(long.slice(2)).toEqual(short.slice(1))
  expect(affinityKeys(of(2100))).toEqual(short)
})

test('the key of the caller comes last, so that a prefix that a replica has read decides first', () => {
  const prompt = chat([system])
  const keys = affinityKeys(prompt, 'thread-1')
  expect(keys.slice(0, -1)).toEqual(affinityKeys(prompt))
  expect(affinityKeys(chat([text('user', 'else')]), 'thread-1').at(-1)).toBe(keys.at(-1))
  expect(affinityKeys(prompt, 'thread-2').at(-1)).not.toBe(keys.at(-1))
  expect(affinityKeys(prompt, '')).toEqual(affinityKeys(prompt))
})

test('an empty prompt has no keys', () => {
  expect(affinityKeys({ type: 'tokens', tokens: [] })).toEqual([])
})

function chat(messages: Message[], tools: { name: string }[] = []): Prompt {
  return { type: 'chat', ...plainChat, messages, tools }
}

function text(role: 'system' | 'developer' | 'user', value: string): Message {
  return { role, content: [{ type: 'text', text: value }] }
}

function answer(value: string): Message {
  return assistant(said(value))
}
