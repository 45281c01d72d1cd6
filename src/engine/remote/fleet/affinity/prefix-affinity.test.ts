import { describe, expect, test } from 'vitest'
import { assistant, call, image, reasoning, text as said } from '../../../../../test/support/parts.ts'
import { type Message, type Prompt, plainChat, type Tool } from '../../../../contract/request.ts'
import { affinityKeys } from './prefix-affinity.ts'

const system = text('system', 'be brief')

describe('a conversation', () => {
  test('a conversation shares the longest key of its earlier turn', () => {
    const first = keysOf(chat([system, text('user', 'hello')]))
    const second = keysOf(chat([system, text('user', 'hello'), answer('hi'), text('user', 'more')]))
    expect(first).toHaveLength(2)
    expect(second).toHaveLength(3)
    expect(second.slice(1)).toEqual(first)
  })

  test('a conversation has the keys of its last eight turns, its first question and its system prompt', () => {
    const messages = [system, ...Array.from({ length: 30 }, (_, turn) => [text('user', `${turn}`), answer('yes')]).flat()]
    const asked = messages.slice(0, -1)
    const keys = keysOf(chat(asked))
    expect(keys).toHaveLength(10)
    expect(new Set(keys).size).toBe(10)
    expect(keysOf(chat(asked.slice(0, -2)))[0]).toBe(keys[1])
    expect(keysOf(chat([system, text('user', 'else')])).at(-1)).toBe(keys.at(-1))
  })

  test('a conversation finds its earlier turn after any number of calls in one reply', () => {
    const start = [system, text('user', 'look at all files')]
    const ids = Array.from({ length: 20 }, (_, index) => `call_${index}`)
    const calls = assistant(...ids.map((id) => call(id, 'read', '{}')))
    const results = ids.map((id): Message => ({ role: 'tool', toolCallId: id, content: [said(`of ${id}`)] }))
    const keys = keysOf(chat([...start, calls, ...results]))
    expect(keys.slice(1)).toEqual(keysOf(chat(start)))
  })

  test('a conversation shares its tools with others, where no system prompt follows them', () => {
    const tools = [{ name: 'f' }]
    expect(keysOf(chat([text('user', 'one')], tools)).at(-1)).toBe(keysOf(chat([text('user', 'two')], tools)).at(-1))
    expect(keysOf(chat([text('user', 'one')]))).toHaveLength(1)
  })

  test('a conversation has keys with their share of the prompt', () => {
    const half = said('x'.repeat(1000))
    const keys = affinityKeys(
      chat([
        { role: 'system', content: [half] },
        { role: 'user', content: [half] },
      ]),
    )
    expect(keys.map(({ share }) => share)).toEqual([1, expect.closeTo(0.5, 2)])
    const withImage = affinityKeys(chat([text('user', 'look'), answer('yes'), { role: 'user', content: [image('AAAA')] }]))
    expect(withImage.at(-1)?.share).toBeLessThan(0.01)
  })

  test.each<{ name: string; messages: Message[]; tools?: { name: string }[] }>([
    { name: 'another text', messages: [system, text('user', 'hullo')] },
    { name: 'another role', messages: [system, text('developer', 'hello')] },
    { name: 'another start', messages: [text('system', 'be long'), text('user', 'hello')] },
    { name: 'other tools', messages: [system, text('user', 'hello')], tools: [{ name: 'f' }] },
    { name: 'an image', messages: [system, { role: 'user', content: [said('hello'), image('AAAA')] }] },
  ])('a conversation with $name is another', ({ messages, tools = [] }) => {
    const keys = keysOf(chat([system, text('user', 'hello')]))
    expect(keys).not.toContain(keysOf(chat(messages, tools))[0])
  })

  test('a conversation keeps its keys when a search adds a tool', () => {
    const of = (...tools: Tool[]) => affinityKeys(chat([text('user', 'hello')], tools))
    expect(of({ name: 'f' }, { name: 'g', isDeferred: true })).toEqual(of({ name: 'f' }))
  })

  test('a conversation keeps its keys without ids and reasoning', () => {
    const of = (id: string, thought: string) => affinityKeys(chat([assistant(reasoning(thought), call(id, 'f', '{}'))]))
    expect(of('call_1', 'hm')).toEqual(of('call_2', ''))
  })

  test.each([
    { turns: 1, current: 1, root: 0, previous: -1 },
    { turns: 2, current: 2, root: 1, previous: 1 },
    { turns: 4, current: 2, root: 3, previous: 1 },
  ])('a conversation of $turns turns says where its last request ended, and which key all of its requests have', (expected) => {
    const asked = Array.from({ length: expected.turns }, (_, turn) => [text('user', `${turn}`), answer('yes')]).flat()
    const keys = affinityKeys(chat([system, ...asked.slice(0, -1)]))
    const current = keys.filter(({ isOld }) => isOld !== true).length
    const [root, previous] = [keys.findIndex(({ isRoot }) => isRoot), keys.findIndex(({ isPrevious }) => isPrevious)]
    expect({ turns: expected.turns, current, root, previous }).toEqual(expected)
    const { high, low } = affinityKeys(chat([system, text('user', '0')]))[0] as { high: number; low: number }
    expect(keys[root]).toMatchObject({ high, low })
    expect(keys.at(-1)).toMatchObject({ isGroup: true, isOld: true })
  })

  describe('of a document and a question', () => {
    const document = 'All of it. '.repeat(3300)
    const inOne = (question: string) => chat([system, text('user', `${document}${question}`)])
    const inParts = (question: string) => chat([system, { role: 'user', content: [said(document), said(question)] }])

    test('in one message shares most of its prompt with other questions', () => {
      const other = keysOf(inOne('And what else?'))
      const shared = affinityKeys(inOne('Why?')).filter(({ high, low }) => other.includes(`${high} ${low}`))
      expect(shared[0]?.share).toBeGreaterThan(0.85)
      expect(shared.find(({ isOpening }) => isOpening)?.share).toBeCloseTo(2048 / document.length, 1)
      expect(keysOf(inOne('Why?'))).toHaveLength(7)
    })

    test('in parts of one message shares all but the question', () => {
      const other = keysOf(inParts('And what else?'))
      const shared = affinityKeys(inParts('Why?')).find(({ high, low }) => other.includes(`${high} ${low}`))
      expect(shared?.share).toBeGreaterThan(0.999)
    })

    test('that comes later in a conversation shares it with a repetition of the turn', () => {
      const later = (question: string) => chat([text('user', 'hello'), answer('hi'), text('user', `${document}${question}`)])
      const other = keysOf(later('And what else?'))
      const shared = affinityKeys(later('Why?')).find(({ high, low }) => other.includes(`${high} ${low}`))
      expect(shared).toMatchObject({ share: expect.closeTo(0.9, 1) })
      expect(shared).not.toHaveProperty('isOld')
    })
  })

  test('a long system prompt that ends with the name of the user is of the same group as that of another user', () => {
    const rules = 'Do this. '.repeat(1000)
    const groupOf = (user: string) =>
      affinityKeys(chat([text('system', `${rules}${user}`), text('user', 'x')])).find(({ isGroup }) => isGroup)
    expect(groupOf('Ada')).toMatchObject({ high: groupOf('Bob')?.high, low: groupOf('Bob')?.low })
    expect(groupOf('Ada')?.share).toBeCloseTo(8192 / 9000, 1)
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
  const short = keysOf(of(2100))
  const long = keysOf(of(2600))
  expect(short).toHaveLength(5)
  expect(long).toHaveLength(6)
  expect(long.slice(2)).toEqual(short.slice(1))
  expect(keysOf(of(2100))).toEqual(short)
})

test('the key of the caller comes last, so that a prefix that a replica has read decides first', () => {
  const prompt = chat([system])
  const keys = keysOf(prompt, ['thread-1'])
  expect(keys.slice(0, -1)).toEqual(keysOf(prompt))
  expect(keysOf(chat([text('user', 'else')]), ['thread-1']).at(-1)).toBe(keys.at(-1))
  expect(keysOf(prompt, ['thread-2']).at(-1)).not.toBe(keys.at(-1))
  expect(keysOf(prompt, ['', undefined])).toEqual(keysOf(prompt))
  expect(affinityKeys(prompt, ['thread-1']).at(-1)?.share).toBeUndefined()
})

test('long texts that begin alike share a key, however long they are', () => {
  const start = 'abcdefgh'.repeat(2048)
  const one = keysOf({ type: 'text', text: `${start}${'one '.repeat(20_000)}` })
  const other = keysOf({ type: 'text', text: `${start}${'other '.repeat(10_000)}` })
  expect(one.filter((key) => other.includes(key))).toHaveLength(4)
  expect(one.length).toBeLessThan(20)
})

test('an empty prompt has no keys', () => {
  expect(affinityKeys({ type: 'tokens', tokens: [] })).toEqual([])
})

/** The keys as texts, without their shares. */
function keysOf(...args: Parameters<typeof affinityKeys>): string[] {
  return affinityKeys(...args).map(({ high, low }) => `${high} ${low}`)
}

function chat(messages: Message[], tools: { name: string }[] = []): Prompt {
  return { type: 'chat', ...plainChat, messages, tools }
}

function text(role: 'system' | 'developer' | 'user', value: string): Message {
  return { role, content: [{ type: 'text', text: value }] }
}

function answer(value: string): Message {
  return assistant(said(value))
}
