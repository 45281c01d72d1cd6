import { describe, expect, test } from 'vitest'
import { assistant, call, text as textPart } from '../../../test/support/parts.ts'
import { type Message, plainChat } from '../../contract/request.ts'
import { compileChatTemplate } from './chat-template.ts'

/** Turns must alternate, calls and results beside; a turn with calls shows no text, as in templates of Mistral. */
const alternating = `{% set ns = namespace(index=0) %}{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system') }}{% endif %}{% if m.role != 'tool' and not m.tool_calls %}{% if (m.role == 'user') != (ns.index % 2 == 0) %}{{ raise_exception('alternate') }}{% endif %}{% set ns.index = ns.index + 1 %}{% endif %}{% endfor %}{% for m in messages %}[{{ m.role }}]{% for c in m.tool_calls or [] %}{{ c.function.arguments | tojson }}{% else %}{{ m.content }}{% endfor %}{% endfor %}`
/** The same, where a turn shows both. */
const alternatingBoth = alternating.replace('{% else %}', '{% endfor %}').replace('{% endfor %}{% endfor %}', '{% endfor %}')
/** Shows each result beside the call in front of it, and no other. */
const resultsBesideCalls = `{% for m in messages %}{% if m.role != 'tool' %}[{{ m.role }}]{{ m.content }}{% if m.tool_calls %}{% for c in m.tool_calls %}{{ c.function.arguments | tojson }}{% endfor %}{% for r in messages[loop.index:] %}{% if r.role != 'tool' %}{% break %}{% endif %}[tool]{{ r.content }}{% endfor %}{% endif %}{% endif %}{% endfor %}`
/** Prints the system message in the user turn that ends the conversation, and nowhere else. */
const systemAtEnd = `{% set system = messages[0].content if messages[0].role == 'system' %}{% for m in messages %}{% if m.role != 'system' %}[{{ m.role }}]{% if loop.last and m.role == 'user' and system %}{{ system }} {% endif %}{% for c in m.tool_calls or [] %}{{ c.function.arguments | tojson }}{% endfor %}{{ m.content }}{% endif %}{% endfor %}`
/** Prints the name of a result's function; shows one call in a turn. */
const named = `{% for m in messages %}[{{ m.role }}]{% for c in m.tool_calls or [] %}{{ c.function.arguments | tojson }}{% endfor %}{{ m.name }} {{ m.content }}{% endfor %}`
const namedSingle = `${named}{% for m in messages %}{% if m.tool_calls and m.tool_calls | length > 1 %}{{ raise_exception('one') }}{% endif %}{% endfor %}`

const text = (role: 'system' | 'user', words: string): Message => ({ role, content: [{ type: 'text', text: words }] })
const user = (words: string): Message => text('user', words)
const reply = (words: string): Message => calling(words)
const calling = (words: string, ...calls: { readonly id: string; readonly name?: string }[]): Message =>
  assistant(
    ...(words === '' ? [] : [textPart(words)]),
    ...calls.map(({ id, name = 'f' }, index) => call(id, name, `{"n":${index + 1}}`)),
  )
const result = (id: string, words: string): Message => ({
  role: 'tool',
  toolCallId: id,
  content: [{ type: 'text', text: words }],
})
const render = (source: string, ...messages: Message[]) =>
  compileChatTemplate(source, {}).render({ type: 'chat', messages, ...plainChat }).text

describe('turns that must alternate, beside calls and results', () => {
  const [a, b] = [{ id: 'a' }, { id: 'b' }]

  test.each<{ name: string; messages: Message[]; prompt: string }>([
    {
      name: 'the text of each turn with calls ends what stands before it',
      messages: [user('q'), calling('x', a), result('a', 'A'), calling('y', b), result('b', 'B'), reply('z'), user('r')],
      prompt: '[user]q\n\nx[assistant]{"n": 1}[tool]A\n\ny[assistant]{"n": 1}[tool]B[assistant]z[user]r',
    },
    {
      name: 'a reply in front of calls is their text',
      messages: [user('q'), reply('x'), calling('', a), result('a', 'A'), reply('z')],
      prompt: '[user]q\n\nx[assistant]{"n": 1}[tool]A[assistant]z',
    },
    {
      name: 'replies in a row become one',
      messages: [user('q'), reply('x'), reply('y'), user('r')],
      prompt: '[user]q[assistant]x\n\ny[user]r',
    },
    {
      name: 'what the user says behind a result ends it',
      messages: [user('q'), calling('', a), result('a', 'A'), user('r'), reply('z')],
      prompt: '[user]q[assistant]{"n": 1}[tool]A\n\nr[assistant]z',
    },
    {
      name: 'a call that the user answers is told as text',
      messages: [user('q'), calling('x', a), user('r')],
      prompt: '[user]q[assistant]x\n\n[{"name": "f", "arguments": {"n":1}}][user]r',
    },
    {
      name: 'a late system message and the text of the turn with calls after it both end the user turn',
      messages: [
        user('q'),
        text('system', 's'),
        calling('x', a),
        result('a', 'A'),
        reply('z'),
        user('r'),
        calling('y', b),
        result('b', 'B'),
      ],
      prompt: '[user]q\n\ns\n\nx[assistant]{"n": 1}[tool]A[assistant]z[user]r\n\ny[assistant]{"n": 1}[tool]B',
    },
  ])('$name', ({ messages, prompt }) => {
    expect(render(alternating, ...messages)).toBe(prompt)
  })

  test('text stays beside its calls where the template shows both', () => {
    const rounds = [user('q'), calling('x', a), result('a', 'A'), calling('y', b), result('b', 'B'), reply('z')]
    expect(render(alternatingBoth, ...rounds)).toBe('[user]q[assistant]{"n": 1}x[tool]A[assistant]{"n": 1}y[tool]B[assistant]z')
  })
})

test('a system message that the template forgets behind calls joins the first user turn', () => {
  const history = [text('system', 'S'), user('q'), calling('', { id: 'a' }), result('a', 'A')]
  expect(render(systemAtEnd, ...history)).toBe('[user]S\n\nq[assistant]{"n": 1}[tool]A')
})

test.each<{ name: string; messages: Message[]; prompt: string }>([
  {
    name: 'follows no call',
    messages: [user('q'), result('a', 'A')],
    prompt: '[user]q[user]{"tool_result":{"tool_call_id":"a","content":"A"}}',
  },
  {
    name: 'comes after a later user turn',
    messages: [user('q'), calling('', { id: 'a' }), user('r'), result('a', 'A')],
    prompt: '[user]q[assistant]{"n": 1}[user]r[user]{"tool_result":{"name":"f","content":"A"}}',
  },
  {
    name: 'is where the template wants it',
    messages: [user('q'), calling('', { id: 'a' }), result('a', 'A')],
    prompt: '[user]q[assistant]{"n": 1}[tool]A',
  },
])('a result is told by the user where the template drops it: one that $name', ({ messages, prompt }) => {
  expect(render(resultsBesideCalls, ...messages)).toBe(prompt)
})

describe('ids that are used again', () => {
  test('a result has the name of the call before it', () => {
    const first = [calling('', { id: 'a', name: 'f' }), result('a', 'A')]
    const second = [calling('', { id: 'a', name: 'g' }), result('a', 'B')]
    expect(render(named, user('q'), ...first, ...second)).toBe(
      '[user] q[assistant]{"n": 1} [tool]f A[assistant]{"n": 1} [tool]g B',
    )
  })

  const shared = [calling('', { id: 'a', name: 'f' }, { id: 'b', name: 'g' }, { id: 'a', name: 'h' })]
  const results = [result('a', 'A1'), result('a', 'A2'), result('b', 'B'), result('a', 'A3')]

  test('calls of one turn with the same id are answered in their order', () => {
    expect(render(named, user('q'), ...shared, ...results)).toBe(
      '[user] q[assistant]{"n": 1}{"n": 2}{"n": 3} [tool]f A1[tool]g B[tool]h A2[tool]h A3',
    )
  })

  test('each result stands once where every call gets a turn', () => {
    expect(render(namedSingle, user('q'), ...shared, ...results)).toBe(
      '[user] q[assistant]{"n": 1} [tool]f A1[assistant]{"n": 2} [tool]g B[assistant]{"n": 3} [tool]h A2[tool]h A3',
    )
  })
})
