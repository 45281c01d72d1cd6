import { assistant, call, reasoning, text } from '../../../../test/support/parts.ts'
import type { FunctionTool, Message } from '../../../contract/request.ts'
import type { TemplateTraits } from '../template-traits.ts'

const user = (words: string): Message => ({ role: 'user', content: [text(words)] })
const system = (words: string): Message => ({ role: 'system', content: [text(words)] })
const bot = (words: string): Message => assistant(text(words))
const result = (id: string, words: string): Message => ({ role: 'tool', toolCallId: id, content: [text(words)] })
const ask = (id: string, json = '{"to": "Brest"}') => call(id, 'sail', json)

/** Conversations that templates differ in. */
export const conversations = {
  'a question': [user('Where?')],
  'a system message': [system('Be brief.'), user('Where?')],
  'two system messages': [system('Be brief.'), system('Be kind.'), user('Where?')],
  'a late system message': [user('Where?'), bot('West.'), system('Be kind.'), user('When?')],
  'a system message before the answer': [user('Where?'), system('Be kind.'), bot('West.'), user('When?')],
  'three turns': [user('Where?'), bot('West.'), user('When?')],
  'two questions': [user('Where?'), user('And when?')],
  'two answers': [user('Where?'), bot('West.'), bot('Or north.'), user('When?')],
  'a call and its result': [user('Sail.'), assistant(ask('a')), result('a', 'done')],
  'a call, its result and an answer': [
    user('Sail.'),
    assistant(ask('a')),
    result('a', 'done'),
    bot('I sailed.'),
    user('Thanks.'),
  ],
  'a call behind text': [user('Sail.'), assistant(text('I go.'), ask('a')), result('a', 'done')],
  'two rounds behind text': [
    user('Sail.'),
    assistant(text('I go.'), ask('a')),
    result('a', 'done'),
    assistant(text('And back.'), ask('b', '{"to": "Dover"}')),
    result('b', 'home'),
  ],
  'two calls': [user('Sail.'), assistant(ask('a'), ask('b', '{"to": "Dover"}')), result('a', 'done'), result('b', 'home')],
  'a question after a result': [user('Sail.'), assistant(ask('a')), result('a', 'done'), user('And?')],
  'a question after a call': [user('Sail.'), assistant(ask('a')), user('Stop!')],
  'a system message and a call': [system('Be brief.'), user('Sail.'), assistant(ask('a')), result('a', 'done')],
  'a greeting': [bot('Ahoy.'), user('Where?')],
  'a call at the start': [assistant(ask('a')), result('a', 'done'), bot('I sailed.'), user('Thanks.')],
  'a result at the start': [result('a', 'done'), bot('I sailed.'), user('Thanks.')],
  'a result of no call': [user('Sail.'), bot('No.'), user('Why?'), result('x', 'storm')],
  'a long id': [user('Sail.'), assistant(ask('call_0123456789')), result('call_0123456789', 'done')],
  'arguments that are a list': [user('Sail.'), assistant(ask('a', '[1, 2]')), result('a', 'done')],
  'arguments that are no JSON': [user('Sail.'), assistant(ask('a', 'to Brest')), result('a', 'done')],
  'no arguments': [user('Sail.'), assistant(ask('a', '{}')), result('a', 'done')],
  reasoning: [user('Where?'), assistant(reasoning('Hm.'), text('West.')), user('When?')],
  'reasoning and a call': [user('Sail.'), assistant(reasoning('Hm.'), ask('a')), result('a', 'done')],
  'reasoning, text and a call': [user('Sail.'), assistant(reasoning('Hm.'), text('I go.'), ask('a')), result('a', 'done')],
} satisfies { readonly [name: string]: readonly Message[] }

export type ConversationName = keyof typeof conversations

export const sail: FunctionTool = { name: 'sail', parameters: { type: 'object', properties: { to: { type: 'string' } } } }

type TemplateOptions = {
  /** Jinja at the start of each turn. */
  readonly guard?: string
  readonly tools?: string
  readonly reasoning?: string
  readonly content?: string
  readonly calls?: string
  readonly turn?: string
  readonly end?: string
}

/** A small template of our own, which can express everything unless a part of it is replaced. */
export function template({
  guard = '',
  tools = '{% if tools %}<tools>{{ tools | tojson }}{% endif %}',
  ...parts
}: TemplateOptions = {}): string {
  const {
    reasoning: thought = '{% if m.reasoning_content %}<r>{{ m.reasoning_content }}</r>{% endif %}',
    content = '{{ m.content }}',
    calls = '{% for c in m.tool_calls or [] %}<{{ c.function.name }}>{{ c.function.arguments if c.function.arguments is string else c.function.arguments | tojson }}{% endfor %}',
    end = '<assistant>',
  } = parts
  const turn = parts.turn ?? `<{{ m.role }}>${thought}${content}${calls}`
  return `${tools}{% for m in messages %}${guard}${turn}{% endfor %}{% if add_generation_prompt %}${end}{% endif %}`
}

/** Jinja that refuses a conversation. */
export const refuse = (condition: string, words: string) => `{% if ${condition} %}{{ raise_exception('${words}') }}{% endif %}`
/** The condition that a turn of one role comes directly after one of another. */
export const follows = (role: string, before: string) =>
  `m.role == '${role}' and not loop.first and loop.previtem.role == '${before}'`

/** A trait, and templates that differ in it. */
export type TraitTemplates = {
  readonly trait: keyof TemplateTraits
  readonly conversations: readonly ConversationName[]
  readonly withTool?: boolean
  /** Templates, and the value that the trait has in each. */
  readonly templates: readonly { readonly value: unknown; readonly source: string }[]
}

/** Conversations without calls. */
export const plain: readonly ConversationName[] = ['a question', 'a system message', 'three turns']
/** Conversations with calls. */
export const withCalls: readonly ConversationName[] = [
  'a call and its result',
  'a call, its result and an answer',
  'two calls',
  'no arguments',
]
