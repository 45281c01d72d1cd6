import { expect, test } from 'vitest'
import { assistant, call, reasoning, text } from '../../../test/support/parts.ts'
import type { CanonicalPath } from '../../contract/field.ts'
import { type Message, plainChat, type Tool } from '../../contract/request.ts'
import { type ConversationTurn, type Noted, PrefixMemory } from './prefix-memory.ts'

const system: Message = { role: 'system', content: [text('Be brief.')] }
const user: Message = { role: 'user', content: [text('hi')] }
const thought = assistant(reasoning('hm'), text('I look.'), call('t1', 'f', '{}'))
const result: Message = { role: 'tool', toolCallId: 't1', content: [text('r')] }
const more: Message = { role: 'user', content: [text('and?')] }

function turn(
  messages: readonly Message[],
  fields: Partial<Omit<ConversationTurn, 'prompt'>> = {},
  tools: readonly Tool[] = [],
): ConversationTurn {
  return { id: 'r', owner: 'a', model: 'm', session: 's', prompt: { type: 'chat', ...plainChat, messages, tools }, ...fields }
}

/** The place of a difference, without the part inside a message or the tool. */
function placeOf({ diverged }: Noted): CanonicalPath | undefined {
  const [, list, index] = diverged?.at ?? []
  return diverged && (list === 'tools' ? ['prompt', 'tools'] : ['prompt', String(list), Number(index)])
}

const told = [system, user, thought, result]

test('a conversation that continues has not diverged', async () => {
  const memory = new PrefixMemory()
  expect(await memory.note(turn([system, user]))).toEqual({})
  expect(await memory.note(turn(told))).toEqual({})
  expect(await memory.note(turn([...told, assistant(text('r')), more]))).toEqual({})
})

test.each<[string, readonly Message[], number]>([
  ['a text', [{ ...system, content: [text('Be long.')] }, user, thought, result], 0],
  ['reasoning', [system, user, assistant(text('I look.'), call('t1', 'f', '{}')), result], 2],
  ['the id of a call', [system, user, assistant(reasoning('hm'), text('I look.'), call('t2', 'f', '{}')), result], 2],
  ['the arguments of a call', [system, user, assistant(reasoning('hm'), text('I look.'), call('t1', 'f', '{ }')), result], 2],
  ['a result', [system, user, thought, { ...result, content: [text('R')] }], 3],
])('a changed %s is named by its message', async (_, changed, index) => {
  const memory = new PrefixMemory()
  await memory.note(turn(told))
  expect(placeOf(await memory.note(turn([...changed, more])))).toEqual(['prompt', 'messages', index])
})

test('changed tools are named, and tools that a search found are not', async () => {
  const memory = new PrefixMemory()
  await memory.note(turn(told, {}, [{ name: 'f' }]))
  expect(await memory.note(turn([...told, more], {}, [{ name: 'f' }, { name: 'g', isDeferred: true }]))).toEqual({})
  expect(placeOf(await memory.note(turn([...told, more, more], {}, [{ name: 'g' }, { name: 'f' }])))).toEqual(['prompt', 'tools'])
})

test('without a session, the first question stands for it', async () => {
  const memory = new PrefixMemory()
  await memory.note(turn(told, { session: undefined }))
  const changed = [{ ...system, content: [text('At noon.')] }, user, thought, result, more]
  expect(placeOf(await memory.note(turn(changed, { session: undefined })))).toEqual(['prompt', 'messages', 0])
})

test.each([
  ['another caller', { owner: 'b' }],
  ['another model', { model: 'n' }],
  ['another session', { session: 't' }],
])('%s sees nothing of it', async (_, fields) => {
  const memory = new PrefixMemory()
  await memory.note(turn(told))
  expect(await memory.note(turn([{ ...system, content: [text('Be long.')] }, user, thought, result, more], fields))).toEqual({})
})

test('the conversation that was quiet for the longest time is forgotten', async () => {
  const memory = new PrefixMemory({ maxTurnBytes: 800 })
  const changed = [{ ...system, content: [text('Be long.')] }, user, thought, result, more]
  await memory.note(turn(told, { session: 'old' }))
  await memory.note(turn(told, { session: 'young' }))
  await memory.note(turn(told, { session: 'new' }))
  expect(await memory.note(turn(changed, { session: 'old' }))).toEqual({})
  expect(placeOf(await memory.note(turn(changed, { session: 'new' })))).toEqual(['prompt', 'messages', 0])
})

test.each([10, 255, 256, 300, 5000])('a change in a message of %i characters is seen, wherever it is', async (length) => {
  const user = (content: string): Message => ({ role: 'user', content: [text(content)] })
  for (const at of [0, length - 1]) {
    const memory = new PrefixMemory()
    const long = 'a'.repeat(length)
    await memory.note(turn([system, user(long)]))
    expect(await memory.note(turn([system, user(long), thought]))).toEqual({})
    const changed = `${long.slice(0, at)}b${long.slice(at + 1)}`
    expect(placeOf(await memory.note(turn([system, user(changed), thought, more])))).toEqual(['prompt', 'messages', 1])
  }
})

test('each divergence is counted', async () => {
  const models: string[] = []
  const memory = new PrefixMemory({ onDiverged: (model) => models.push(model) })
  await memory.note(turn(told))
  await memory.note(turn([user, ...told]))
  expect(models).toEqual(['m'])
})

const edited = [{ ...system, content: [text('Be long.')] }, user, thought, result, more]

test('where the texts are forgotten, the message is named without more', async () => {
  const memory = new PrefixMemory({ maxTextBytes: 1 })
  await memory.note(turn(told))
  const { diverged } = await memory.note(turn(edited))
  expect(diverged).toEqual({ at: ['prompt', 'messages', 0], part: 'message', isSystem: true, missedTokens: expect.any(Number) })
})

test('the texts of short conversations count with the memory that they take', async () => {
  const memory = new PrefixMemory({ maxTextBytes: 100_000 })
  const sessions = Array.from({ length: 500 }, (_, session) => `${session}`)
  for (const session of sessions) await memory.note(turn(told, { session }))
  let remembered = 0
  for (const session of sessions.reverse())
    if ((await memory.note(turn(edited, { session }))).diverged?.texts !== undefined) remembered += 1
  // Each has 25 characters, and takes some 1,900 bytes.
  expect(remembered).toBeGreaterThan(30)
  expect(remembered).toBeLessThan(70)
})

test('a setting that no template prints before the end makes no difference', async () => {
  const memory = new PrefixMemory()
  await memory.note(turn(told))
  const more = { reasoning: { effort: 'high' } }
  expect(await memory.note(turn(told, { ...more, isPrinted: () => false }))).toEqual({})
  const [low, high] = [{ effort: 'low' }, { effort: 'high' }]
  await memory.note(turn(told, { reasoning: low, session: 't' }))
  const { diverged } = await memory.note(turn(told, { reasoning: high, session: 't' }))
  expect(diverged).toMatchObject({ at: ['reasoning', 'effort'] })
})

test('a reply is compared with another that its caller names, whatever the conversation', async () => {
  const memory = new PrefixMemory()
  await memory.note(turn(told, { id: 'r1' }))
  await memory.note(turn([system, more], { id: 'r2', session: 't' }))
  const compare = async (fields: object) =>
    (await memory.note(turn([...told, more], { id: 'r3', session: 'u', ...fields }))).compared
  expect(await compare({ comparesWith: 'r1' })).toBe('same')
  expect(await compare({ comparesWith: 'r2' })).toMatchObject({ at: ['prompt', 'messages', 1], kind: 'added' })
  expect(await compare({ comparesWith: 'r1', model: 'n' })).toMatchObject({ part: 'model', kind: 'value' })
  expect(await compare({ comparesWith: 'r1', owner: 'b' })).toBe('unknown')
  expect(await compare({ comparesWith: 'r9' })).toBe('unknown')
})

test('the estimate counts what follows the difference, in tokens of this prompt', async () => {
  const memory = new PrefixMemory()
  const long = (end: string): Message => ({ role: 'user', content: [text(`${'a'.repeat(4000)}${end}${'b'.repeat(4000)}`)] })
  await memory.note(turn([system, long('1')]))
  const { diverged } = await memory.note(turn([system, long('2'), thought, more], { inputTokens: 2000 }))
  expect(diverged?.missedTokens).toBeGreaterThan(950)
  expect(diverged?.missedTokens).toBeLessThan(1050)
})

test.each<[string, () => Promise<never>]>([
  ['do not answer', () => new Promise<never>(() => undefined)],
  ['cannot be asked', () => Promise.reject(new Error('the channel is closed'))],
])('where other processes %s, the reply does not wait for them, and no difference is reported', async (_, publish) => {
  const memory = new PrefixMemory({ siblings: { publish, subscribe: async () => undefined } })
  const changed = [{ ...system, content: [text('Be long.')] }, user, thought, result, more]
  expect(await memory.note(turn(told))).toEqual({})
  expect(await memory.note(turn(changed))).toEqual({})
  expect(await memory.note(turn([...changed, more]))).toEqual({})
})
