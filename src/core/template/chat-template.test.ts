import { describe, expect, test } from 'vitest'
import { type Message, plainChat } from '../request.ts'
import { compileChatTemplate } from './chat-template.ts'

const chatml =
  '{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}'
/** Refuses system messages after the first place, as the templates of Qwen 3.5 and others do. */
const strictSystem = `{% for m in messages %}{% if m.role == 'system' and not loop.first %}{{ raise_exception('System message must be at the beginning.') }}{% endif %}[{{ m.role }}]{{ m.content }}{% endfor %}`
/** Drops what it does not know, and wants user and assistant to alternate. */
const noSystem = `{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate') }}{% endif %}<{{ m.role }}>{{ m.content }}{% endfor %}`
const typedOnly = `{% for m in messages %}[{{ m.role }}]{% for part in m.content %}{{ part.text }}{% endfor %}{% endfor %}`

const text = (role: 'system' | 'developer' | 'user', words: string): Message => ({
  role,
  content: [{ type: 'text', text: words }],
})
const reply = (words: string): Message => ({ role: 'assistant', content: [{ type: 'text', text: words }], toolCalls: [] })
const render = (source: string, ...messages: Message[]) =>
  compileChatTemplate(source, {}).render({ type: 'chat', messages, ...plainChat })

describe('a chat template', () => {
  test('ends where the answer begins', () => {
    expect(render(chatml, text('user', 'hi'))).toBe('<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n')
  })

  test('several text parts stand on lines of their own', () => {
    const parts: Message = {
      role: 'user',
      content: [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ],
    }
    expect(render(chatml, parts)).toContain('user\na\nb<|im_end|>')
  })

  test('developer is rendered as system', () => {
    expect(render(chatml, text('developer', 'be brief'), text('user', 'hi'))).toContain('<|im_start|>system\nbe brief<|im_end|>')
  })

  test('late system messages stay where they stand if the template allows it', () => {
    const prompt = render(chatml, text('user', 'a'), reply('b'), text('system', 'S'), text('user', 'c'))
    expect(prompt).toContain('b<|im_end|>\n<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nc')
  })

  test.each([
    {
      name: 'after a user turn it ends that turn',
      messages: [text('system', 'A'), text('user', 'a'), text('system', 'S'), reply('b'), text('user', 'c')],
      prompt: '[system]A[user]a\n\nS[assistant]b[user]c',
    },
    {
      name: 'after a reply it opens the next user turn',
      messages: [text('user', 'a'), reply('b'), text('system', 'S'), text('user', 'c')],
      prompt: '[user]a[assistant]b[user]S\n\nc',
    },
    {
      name: 'with no user turn next it is one of its own',
      messages: [text('user', 'a'), reply('b'), text('system', 'S')],
      prompt: '[user]a[assistant]b[user]S',
    },
    {
      name: 'several at the start become one',
      messages: [text('developer', 'A'), text('system', 'B'), text('user', 'a')],
      prompt: '[system]A\n\nB[user]a',
    },
    { name: 'a conversation of system messages only', messages: [text('system', 'A')], prompt: '[system]A' },
  ])('a late system message that the template refuses joins a user turn: $name', ({ messages, prompt }) => {
    expect(render(strictSystem, ...messages)).toBe(prompt)
  })

  test('a late system message after a tool result that no user turn may follow ends that result', () => {
    const source = `{% for m in messages %}{% if m.role == 'system' and not loop.first %}{{ raise_exception('no') }}{% endif %}{% if m.role == 'user' and loop.previtem and loop.previtem.role == 'tool' %}{{ raise_exception('alternate') }}{% endif %}[{{ m.role }}]{% for c in m.tool_calls or [] %}{{ c.function.arguments | tojson }}{% endfor %}{{ m.content }}{% endfor %}`
    const calls: Message = { role: 'assistant', content: [], toolCalls: [{ id: 'a', name: 'f', arguments: '{}' }] }
    const result: Message = { role: 'tool', toolCallId: 'a', content: [{ type: 'text', text: 'sunny' }] }
    expect(render(source, text('user', 'q'), calls, result, text('system', 'S'))).toBe('[user]q[assistant]{}[tool]sunny\n\nS')
  })

  test('a template without system messages gets the text in the first user turn', () => {
    expect(render(noSystem, text('system', 'A'), text('user', 'a'))).toBe('<user>A\n\na')
  })

  test('a template that wants turns to alternate gets consecutive user turns as one', () => {
    expect(render(noSystem, text('user', 'a'), text('user', 'b'), reply('c'))).toBe('<user>a\n\nb<assistant>c')
  })

  test('a template that only knows parts gets parts', () => {
    expect(render(typedOnly, text('user', 'a'))).toBe('[user]a')
  })

  test('a template that knows no tools gets calls and results as JSON in ordinary turns', () => {
    const source = `{% for m in messages %}{% if m.role in ['user', 'assistant'] %}[{{ m.role }}]{{ m.content }}{% endif %}{% endfor %}`
    const calls: Message = { role: 'assistant', content: [], toolCalls: [{ id: 'a', name: 'f', arguments: '{"n":1}' }] }
    const result: Message = { role: 'tool', toolCallId: 'a', content: [{ type: 'text', text: 'sunny' }] }
    expect(render(source, text('user', 'q'), calls, result)).toBe(
      '[user]q[assistant]{"tool_calls":[{"id":"a","name":"f","arguments":"{\\"n\\":1}"}]}[user]{"tool_result":{"tool_call_id":"a","content":"sunny"}}',
    )
  })

  test('tool results are rendered in the order of their calls', () => {
    const source = `{% for m in messages %}[{{ m.role }}]{% for c in m.tool_calls or [] %}{{ c.function.arguments | tojson }}{% endfor %}{{ m.content }}{% endfor %}`
    const call = (id: string) => ({ id, name: 'f', arguments: '{}' })
    const result = (id: string): Message => ({ role: 'tool', toolCallId: id, content: [{ type: 'text', text: id }] })
    const calls: Message = { role: 'assistant', content: [], toolCalls: [call('a'), call('b'), call('c')] }
    expect(render(source, text('user', 'q'), calls, result('x'), result('c'), result('a'), result('b'))).toBe(
      '[user]q[assistant]{}{}{}[tool]a[tool]b[tool]c[tool]x',
    )
  })

  test.each([
    {
      name: 'as data',
      source: `{% for m in messages %}{% for c in m.tool_calls or [] %}{{ c.function.arguments | tojson }}{% endfor %}{{ m.content }}{% endfor %}`,
      shown: '{"n": 1}',
    },
    {
      name: 'as text, where the template adds strings',
      source: `{% for m in messages %}{% for c in m.tool_calls or [] %}{{ '' + c.function.arguments }}{% endfor %}{{ m.content }}{% endfor %}`,
      shown: '{"n":1}',
    },
  ])('tool arguments are handed over $name', ({ source, shown }) => {
    const calls: Message = { role: 'assistant', content: [], toolCalls: [{ id: 'a', name: 'f', arguments: '{"n":1}' }] }
    expect(render(source, text('user', 'q'), calls)).toContain(shown)
  })

  test('tools reach the template as function specifications', () => {
    const template = compileChatTemplate(
      `{{ tools | tojson if tools else 'none' }}{% for m in messages %}{{ m.content }}{% endfor %}`,
      {},
    )
    const messages = [text('user', 'q')]
    expect(template.render({ type: 'chat', messages, ...plainChat })).toBe('noneq')
    expect(template.render({ type: 'chat', messages, ...plainChat, tools: [{ name: 'f', description: 'd' }] })).toBe(
      '[{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {}}}}]q',
    )
  })

  test('a template that refuses a conversation is a caller error with its own words', () => {
    const source = `{% for m in messages %}{{ m.content }}{% endfor %}{{ raise_exception('no thanks') if messages | length > 2 }}`
    const run = () => render(source, text('user', 'a'), reply('b'), text('user', 'c'))
    expect(run).toThrow(expect.objectContaining({ code: 'template-failed', message: expect.stringContaining('no thanks') }))
  })

  test('a template that does not parse says so', () => {
    expect(() => compileChatTemplate('{% if %}', {})).toThrow(expect.objectContaining({ code: 'template-failed' }))
  })
})
