import { expect, test } from 'vitest'
import { type Conversation, type Message, pathOf } from './conversation.ts'
import { readConversation } from './read-conversation.ts'

const question: Message = {
  id: 'm1',
  role: 'user',
  text: 'Hello',
  atMs: 1,
  attachments: [{ kind: 'image', name: 'cat.png', type: 'image/png', data: 'data:image/png;base64,AA==' }],
}
const answer: Message = {
  id: 'm2',
  parent: 'm1',
  role: 'assistant',
  text: 'Hi',
  atMs: 2,
  model: 'org/model',
  state: 'done',
  reasoning: 'They greet.',
  reasoningMs: 3.5,
  calls: [
    { id: 'c1', name: 'look', input: '{}', by: 'caller', result: 'a cat', isError: false },
    { id: 'c2', name: 'python', input: '{}', by: 'server', waits: true, pictures: ['plot.png'] },
  ],
  problem: 'none',
  finish: 'stop',
  limit: 9,
  facts: { promptTokens: 4, cachedTokens: 1, outputTokens: 2, tokensPerSecond: 9.5, firstTokenMs: 20 },
  tokens: [{ text: 'Hi', logprob: -0.1, top: [{ text: 'Hi', logprob: -0.1 }] }],
  schema: '{}',
}
const good: Conversation = {
  id: 'c-1',
  title: 'Hello',
  folder: 'Work',
  createdAtMs: 1,
  updatedAtMs: 2,
  settings: {
    model: 'org/model',
    system: 'Be kind.',
    sampling: { temperature: 0 },
    thinking: false,
    tools: '[]',
    serverTools: { names: ['web_search', 'files'], asks: true },
    schema: '{}',
    logprobs: true,
  },
  messages: { m1: question, m2: answer },
  chosen: { start: 'm1', m1: 'm2' },
}

test('a conversation of this page is read as it is', () => {
  expect(readConversation(structuredClone(good))).toEqual(good)
})

test.each([
  [null],
  [[]],
  ['text'],
  [{ messages: {} }],
  [{ id: 'c' }],
  [{ id: 'c', messages: [] }],
  [{ id: '', messages: {} }],
  [{ id: '\uD800', messages: {} }],
])('%j is not a conversation', (value) => {
  expect(readConversation(value)).toBeUndefined()
})

const nothing = { promptTokens: 0, cachedTokens: 0, outputTokens: 0 }

test.each<[field: string, value: unknown, read: unknown]>([
  ['atMs', undefined, 0],
  ['atMs', 1e300, 0],
  ['atMs', 'noon', 0],
  ['id', 'm1', 'm2'],
  ['parent', 7, undefined],
  ['parent', 'nobody', undefined],
  ['parent', '__proto__', undefined],
  ['role', 'root', 'user'],
  ['text', undefined, ''],
  ['text', { html: '' }, ''],
  ['model', 7, undefined],
  ['state', 'asleep', undefined],
  // Of an earlier page, which could not find it again.
  ['state', 'running', 'broken'],
  ['run', { id: 'r', bytes: -1 }, { id: 'r', bytes: 0 }],
  ['isDeleted', 'yes', undefined],
  ['reasoning', ['a'], undefined],
  ['reasoningMs', -1, undefined],
  ['reasoningMs', 1e300, undefined],
  ['attachments', { length: 1 }, undefined],
  ['attachments', [{ kind: 'image', name: 'cat.png' }, null], []],
  ['attachments', [{ data: 'x', kind: 'film', name: 7 }], [{ data: 'x', kind: 'text', name: '', type: '' }]],
  ['calls', 'look', undefined],
  ['calls', [null], []],
  ['calls', [{ name: 7, pictures: 'all' }], [{ id: '', name: '', input: '', by: 'server' }]],
  ['problem', {}, undefined],
  ['limit', 'much', undefined],
  ['facts', null, undefined],
  ['facts', { promptTokens: 'many', firstTokenMs: null }, nothing],
  ['tokens', {}, undefined],
  ['tokens', [{ text: 'a', logprob: null, top: [7] }, 7], [{ text: 'a', logprob: 0, top: [] }]],
  ['schema', { type: 'object' }, undefined],
])('the %s %j of a message is read as %j', (field, value, read) => {
  const made = readConversation({ ...good, messages: { m1: question, m2: { ...answer, [field]: value } } })
  const { [field]: _before, ...others } = answer as unknown as Record<string, unknown>
  expect(made?.messages.m2).toEqual({ ...others, ...(read !== undefined && { [field]: read }) })
})

test('an answer that still runs at the server stays running', () => {
  const running = { ...answer, state: 'running' as const, run: { id: 'r', bytes: 7 } }
  expect(readConversation({ ...good, messages: { m1: question, m2: running } })?.messages.m2).toEqual(running)
})

const noSettings = { system: '', sampling: {}, tools: '', schema: '' }

test.each<[field: string, value: unknown, read: unknown]>([
  ['title', 7, ''],
  ['createdAtMs', 'today', 0],
  ['updatedAtMs', undefined, 0],
  ['updatedAtMs', 1e300, 0],
  ['updatedAtMs', null, 0],
  ['settings', {}, noSettings],
  ['settings', null, noSettings],
  [
    'settings',
    { system: 7, sampling: { temperature: 'hot', top_k: 1, model: 1, messages: 2 }, serverTools: [] },
    { ...noSettings, sampling: { top_k: 1 } },
  ],
  [
    'settings',
    { sampling: [], thinking: 'no', serverTools: { web: 'yes', python: true, mcp: 'x, , y ' } },
    { ...noSettings, serverTools: { names: ['python', 'x', 'y'] } },
  ],
  ['settings', { serverTools: { names: ['a', 7], asks: 1 } }, { ...noSettings, serverTools: { names: ['a'] } }],
  ['chosen', undefined, good.chosen],
  ['chosen', { start: '__proto__' }, good.chosen],
  ['chosen', { start: 'm2', m1: 'm1', m2: 'm1' }, good.chosen],
])('the %s %j of a conversation is read as %j', (field, value, read) => {
  expect(readConversation({ ...good, [field]: value })).toEqual({ ...good, [field]: read })
})

test('values that are not messages are left out, and messages that followed them begin the conversation', () => {
  const made = readConversation({ ...good, messages: { m0: null, m1: 'Hello', m2: answer } })
  expect(made && pathOf(made).map(({ id }) => id)).toEqual(['m2'])
})

test('the id of a message may be the name of a property that every object has', () => {
  const messages = JSON.parse('{"__proto__":{"role":"user"},"start":{"parent":"__proto__"},"constructor":{"parent":"start"}}')
  const made = readConversation({ ...good, messages, chosen: { start: 'start' } })
  expect(made && Object.keys(made.messages)).toEqual(['__proto__', 'start', 'constructor'])
  expect(made && pathOf(made).length).toBeLessThanOrEqual(3)
})

test('the chosen branch stays, and the last one replaces a choice that is not there', () => {
  const messages = { ...good.messages, m3: { ...answer, id: 'm3' } }
  expect(readConversation({ ...good, messages })?.chosen.m1).toBe('m2')
  expect(readConversation({ ...good, messages, chosen: { start: 'm1', m1: 'm9' } })?.chosen.m1).toBe('m3')
})
