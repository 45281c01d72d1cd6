import { assistant, call, reasoning, text } from '../../../../test/support/parts.ts'
import type { FunctionTool, Message, Prompt } from '../../../contract/request.ts'

/** A conversation as clients produce them; its texts are words that occur nowhere else, each once. */
export type History = {
  readonly name: string
  readonly messages: readonly Message[]
  readonly tools?: readonly FunctionTool[]
  readonly start?: Extract<Prompt, { type: 'chat' }>['start']
}

export const ferry: FunctionTool = {
  name: 'book_ferry',
  description: 'Books a crossing.',
  parameters: { type: 'object', properties: { to: { type: 'string', description: 'The harbour.' } }, required: ['to'] },
}

const system = (words: string): Message => ({ role: 'system', content: [text(words)] })
const developer = (words: string): Message => ({ role: 'developer', content: [text(words)] })
const user = (words: string): Message => ({ role: 'user', content: [text(words)] })
const bot = (words: string): Message => assistant(text(words))
const result = (id: string, words: string): Message => ({ role: 'tool', toolCallId: id, content: [text(words)] })
const book = (id: string, to: string) => call(id, ferry.name, JSON.stringify({ to }))
const asks = (id: string, to: string): Message => assistant(book(id, to))

const tools = [ferry]

const cut: readonly History[] = [
  { name: 'cut before an answer', messages: [bot('Ans1'), user('Usr1'), bot('Ans2'), user('Usr2')] },
  { name: 'cut before a call', messages: [asks('c1', 'Val1'), result('c1', 'Res1'), bot('Ans1'), user('Usr1')], tools },
  {
    name: 'cut before a call, behind the system message',
    messages: [system('Sys1'), asks('c1', 'Val1'), result('c1', 'Res1'), bot('Ans1'), user('Usr1')],
    tools,
  },
  {
    name: 'cut before a call with text, behind the system message',
    messages: [system('Sys1'), assistant(text('Pre1'), book('c1', 'Val1')), result('c1', 'Res1'), bot('Ans1'), user('Usr1')],
    tools,
  },
  { name: 'cut before a result', messages: [result('c1', 'Res1'), bot('Ans1'), user('Usr1')], tools },
  {
    name: 'cut before a result, behind the system message',
    messages: [system('Sys1'), result('c1', 'Res1'), bot('Ans1'), user('Usr1')],
    tools,
  },
  {
    name: 'cut before two results, in a tool loop',
    messages: [result('c1', 'Res1'), result('c2', 'Res2'), asks('c3', 'Val3'), result('c3', 'Res3')],
    tools,
  },
]

const unasked: readonly History[] = [
  { name: 'a greeting', messages: [system('Sys1'), bot('Ans1'), user('Usr1')] },
  { name: 'a greeting without a system message', messages: [bot('Ans1'), user('Usr1')] },
  {
    name: 'a greeting, then a tool loop',
    messages: [system('Sys1'), bot('Ans1'), user('Usr1'), asks('c1', 'Val1'), result('c1', 'Res1')],
    tools,
  },
  { name: 'a greeting between system messages', messages: [system('Sys1'), bot('Ans1'), system('Sys2'), user('Usr1')] },
  { name: 'a system message alone', messages: [system('Sys1')] },
  { name: 'two system messages alone', messages: [system('Sys1'), developer('Sys2')] },
  { name: 'a system message alone, with tools', messages: [system('Sys1')], tools },
  { name: 'an answer alone', messages: [bot('Ans1')] },
  { name: 'a system message and an answer', messages: [system('Sys1'), bot('Ans1')] },
  {
    name: 'a tool loop without a question',
    messages: [
      system('Sys1'),
      asks('c1', 'Val1'),
      result('c1', 'Res1'),
      assistant(text('Pre1'), book('c2', 'Val2')),
      result('c2', 'Res2'),
    ],
    tools,
  },
  { name: 'a call and its result alone', messages: [asks('c1', 'Val1'), result('c1', 'Res1')], tools },
  {
    name: 'a call and its result alone, without the tools',
    messages: [system('Sys1'), asks('c1', 'Val1'), result('c1', 'Res1')],
  },
]

const empty: readonly History[] = [
  { name: 'an answer with an empty text', messages: [user('Usr1'), bot(''), user('Usr2')] },
  { name: 'an answer of nothing', messages: [user('Usr1'), assistant(), user('Usr2')] },
  { name: 'an answer of reasoning', messages: [user('Usr1'), assistant(reasoning('Tho1')), user('Usr2')] },
  { name: 'an answer of nothing at the end', messages: [user('Usr1'), assistant()] },
  { name: 'an answer of nothing at the start', messages: [bot(''), user('Usr1')] },
  {
    name: 'an answer of nothing behind a result',
    messages: [user('Usr1'), asks('c1', 'Val1'), result('c1', 'Res1'), assistant(), user('Usr2')],
    tools,
  },
  { name: 'an empty question', messages: [user('Usr1'), bot('Ans1'), user('')] },
  { name: 'an empty system message', messages: [system(''), user('Usr1')] },
  { name: 'an empty result', messages: [user('Usr1'), asks('c1', 'Val1'), result('c1', ''), bot('Ans1'), user('Usr2')], tools },
]

const repeated: readonly History[] = [
  { name: 'questions in a row', messages: [user('Usr1'), user('Usr2'), bot('Ans1'), user('Usr3'), user('Usr4')] },
  { name: 'answers in a row', messages: [user('Usr1'), bot('Ans1'), bot('Ans2'), user('Usr2')] },
  { name: 'an answer, then a call', messages: [user('Usr1'), bot('Ans1'), asks('c1', 'Val1'), result('c1', 'Res1')], tools },
  {
    name: 'turns with calls in a row',
    messages: [user('Usr1'), asks('c1', 'Val1'), asks('c2', 'Val2'), result('c1', 'Res1'), result('c2', 'Res2'), bot('Ans1')],
    tools,
  },
]

const unmatched: readonly History[] = [
  { name: 'a result of no call', messages: [user('Usr1'), result('c9', 'Res1'), bot('Ans1'), user('Usr2')], tools },
  { name: 'a result behind an answer', messages: [user('Usr1'), bot('Ans1'), result('c9', 'Res1'), user('Usr2')], tools },
  { name: 'a result of no call at the end', messages: [user('Usr1'), result('c9', 'Res1')], tools },
  {
    name: 'a result of another id',
    messages: [user('Usr1'), asks('c1', 'Val1'), result('c9', 'Res1'), bot('Ans1'), user('Usr2')],
    tools,
  },
  { name: 'a call without a result', messages: [user('Usr1'), asks('c1', 'Val1'), user('Usr2')], tools },
  {
    name: 'two calls with one result',
    messages: [user('Usr1'), assistant(book('c1', 'Val1'), book('c2', 'Val2')), result('c2', 'Res2'), user('Usr2')],
    tools,
  },
]

const odd: readonly History[] = ['{}', 'null', '', '[1]', '"x"', '{"to"'].map((input) => ({
  name: `a call whose arguments are ${JSON.stringify(input)}`,
  messages: [user('Usr1'), assistant(call('c1', ferry.name, input)), result('c1', 'Res1'), bot('Ans1'), user('Usr2')],
}))

const late: readonly History[] = [
  { name: 'a late system message', messages: [system('Sys1'), user('Usr1'), bot('Ans1'), system('Sys2'), user('Usr2')] },
  {
    name: 'a late developer message at the end',
    messages: [developer('Sys1'), user('Usr1'), bot('Ans1'), user('Usr2'), developer('Sys2')],
  },
  {
    name: 'a system message in a tool loop',
    messages: [system('Sys1'), user('Usr1'), asks('c1', 'Val1'), result('c1', 'Res1'), system('Sys2'), bot('Ans1'), user('Usr2')],
    tools,
  },
  {
    name: 'a system message at the end of a tool loop',
    messages: [user('Usr1'), asks('c1', 'Val1'), result('c1', 'Res1'), system('Sys1')],
    tools,
  },
]

const inTags = (words: string) => user(`<tool_response>\n${words}\n</tool_response>`)

const onlyResults: readonly History[] = [
  { name: 'the user says only a result in tags', messages: [inTags('Usr1')] },
  { name: 'only a result in tags behind the system message', messages: [system('Sys1'), inTags('Usr1')], tools },
  { name: 'only results in tags', messages: [inTags('Usr1'), bot('Ans1'), inTags('Usr2')] },
  { name: 'only a result in tags behind a greeting', messages: [bot('Ans1'), inTags('Usr1')] },
]

const continued: readonly History[] = [
  { name: 'an answer to be continued', messages: [user('Usr1'), bot('Ans1'), user('Usr2'), bot('Ans2')], start: 'last-message' },
  {
    name: 'an answer with reasoning to be continued',
    messages: [user('Usr1'), assistant(reasoning('Tho1'), text('Ans1'))],
    start: 'last-message',
  },
  {
    name: 'an answer in a tool loop to be continued',
    messages: [user('Usr1'), assistant(reasoning('Tho1'), book('c1', 'Val1')), result('c1', 'Res1'), bot('Ans1')],
    tools,
    start: 'last-message',
  },
  { name: 'a greeting to be continued', messages: [system('Sys1'), bot('Ans1')], start: 'last-message' },
  { name: 'a first answer to be continued', messages: [bot('Ans1')], start: 'last-message' },
  {
    name: 'an answer behind an answer to be continued',
    messages: [user('Usr1'), bot('Ans1'), bot('Ans2')],
    start: 'last-message',
  },
]

/** What agents and chat clients really send. */
export const histories: readonly History[] = [cut, unasked, empty, repeated, unmatched, odd, late, onlyResults, continued].flat()

/** A tool loop whose turns have reasoning. */
export const thoughtfulLoop: readonly Message[] = [
  user('Usr1'),
  assistant(reasoning('Tho1'), book('c1', 'Val1')),
  result('c1', 'Res1'),
  assistant(reasoning('Tho2'), book('c2', 'Val2')),
  result('c2', 'Res2'),
]
