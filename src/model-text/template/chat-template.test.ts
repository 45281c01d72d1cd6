import { describe, expect, test } from 'vitest'
import { assistant, call, reasoning, text as textPart } from '../../../test/support/parts.ts'
import { type Message, plainChat, type ReasoningOptions, type ToolChoice } from '../../contract/request.ts'
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
const reply = (words: string): Message => assistant(textPart(words))
const render = (source: string, ...messages: Message[]) =>
  compileChatTemplate(source, {}).render({ type: 'chat', messages, ...plainChat }).text

describe('a chat template', () => {
  test('ends where the answer begins', () => {
    expect(render(chatml, text('user', 'hi'))).toBe('<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n')
  })

  test('a conversation of four megabytes is within its limits, as one text or as a thousand', () => {
    const line = 'Four score and "seven" <years> ago.\n'
    const words = line.repeat(4_000_000 / line.length)
    expect(render(thinking, text('user', words))).toContain(words.trim())
    const turns = Array.from({ length: 1000 }, (_, index) => {
      const part = words.slice(index * 4000, index * 4000 + 4000)
      return index % 2 === 0 ? text('user', part) : reply(part)
    })
    expect(render(thinking, ...turns).length).toBeGreaterThan(3_900_000)
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
    const calls = assistant(call('a', 'f', '{}'))
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

  test('a template that knows no tools gets calls and results in ordinary turns', () => {
    const source = `{% for m in messages %}{% if m.role in ['user', 'assistant'] %}[{{ m.role }}]{{ m.content }}{% endif %}{% endfor %}`
    const calls = assistant(call('a', 'f', '{"n":1}'))
    const result: Message = { role: 'tool', toolCallId: 'a', content: [{ type: 'text', text: 'sunny' }] }
    expect(render(source, text('user', 'q'), calls, result)).toBe(
      '[user]q[assistant][{"name": "f", "arguments": {"n":1}}][user]{"tool_result":{"name":"f","content":"sunny"}}',
    )
  })

  test('tool results are rendered in the order of their calls', () => {
    const source = `{% for m in messages %}[{{ m.role }}]{% for c in m.tool_calls or [] %}{{ c.function.arguments | tojson }}{% endfor %}{{ m.content }}{% endfor %}`
    const result = (id: string): Message => ({ role: 'tool', toolCallId: id, content: [{ type: 'text', text: id }] })
    const calls = assistant(...['a', 'b', 'c'].map((id) => call(id, 'f', '{}')))
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
    const calls = assistant(call('a', 'f', '{"n":1}'))
    expect(render(source, text('user', 'q'), calls)).toContain(shown)
  })

  test('tools reach the template as function specifications', () => {
    const template = compileChatTemplate(
      `{{ tools | tojson if tools else 'none' }}{% for m in messages %}{{ m.content }}{% endfor %}`,
      {},
    )
    const messages = [text('user', 'q')]
    expect(template.render({ type: 'chat', messages, ...plainChat }).text).toBe('noneq')
    expect(template.render({ type: 'chat', messages, ...plainChat, tools: [{ name: 'f', description: 'd' }] }).text).toBe(
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

/** Shows thinking as Qwen 3 does: a switch, a block that the template opens, and reasoning of earlier turns. */
const thinking = `{% for m in messages %}<|{{ m.role }}|>{% if m.reasoning_content %}<think>
{{ m.reasoning_content }}
</think>

{% endif %}{{ m.content | trim }}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% if enable_thinking is defined and not enable_thinking %}<think>

</think>

{% else %}<think>
{% endif %}{% endif %}`

type Chat = Parameters<ReturnType<typeof compileChatTemplate>['render']>[0]
type Reasoning = { readonly reasoning?: ReasoningOptions; readonly toolChoice?: ToolChoice }

const renderWith = (source: string, prompt: Partial<Chat>, options: Reasoning = {}) =>
  compileChatTemplate(source, {}).render({ type: 'chat', messages: [text('user', 'q')], ...plainChat, ...prompt }, options)

describe('where the answer begins', () => {
  test('bare leaves the generation prompt out', () => {
    expect(renderWith(chatml, { start: 'bare' }).text).toBe('<|im_start|>user\nq<|im_end|>\n')
  })

  test('the response prefix follows the generation prompt', () => {
    expect(renderWith(chatml, { responsePrefix: 'Sure' }).text).toBe('<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\nSure')
  })

  test('a continued message ends where its text ends, without a marker', () => {
    const messages = [text('user', 'q'), reply('The story begins ')]
    expect(renderWith(chatml, { messages, start: 'last-message' }).text).toBe(
      '<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\nThe story begins ',
    )
  })

  test('a template that trims texts trims the continued one too', () => {
    const messages = [text('user', 'q'), reply('The story begins ')]
    expect(renderWith(thinking, { messages, start: 'last-message' }).text).toBe('<|user|>q<|end|><|assistant|>The story begins')
  })

  test('a text that was said before is continued at its last place', () => {
    const messages = [text('user', 'a'), reply('a'), text('user', 'a'), reply('a')]
    expect(renderWith(strictSystem, { messages, start: 'last-message', responsePrefix: 'b' }).text).toBe(
      '[user]a[assistant]a[user]a[assistant]ab',
    )
  })

  test.each([
    { name: 'its reasoning, where there is no text', words: '', prompt: '<think>\nhm', inside: true },
    { name: 'its text, behind its reasoning', words: 'So ', prompt: '<think>\nhm\n</think>\n\nSo ', inside: false },
  ])('a continued message with reasoning goes on with $name', ({ words, prompt, inside }) => {
    const messages = [text('user', 'q'), assistant(reasoning('hm'), textPart(words))]
    expect(renderWith(thinking, { messages, start: 'last-message' })).toMatchObject({
      text: `<|user|>q<|end|><|assistant|>${prompt}`,
      startsInReasoning: inside,
    })
  })

  /** Prints reasoning with headers of its own, and text without it under another. */
  const headed = `{% for m in messages %}<{{ m.role }}>{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}{% if m.content %}<final>{{ m.content }}{% endif %}</end>{% endfor %}{% if add_generation_prompt %}<assistant><think>{% endif %}`
  const dropping = headed.replace('{% if m.reasoning_content %}', '{% if false %}')

  test.each([
    {
      name: 'text behind reasoning',
      source: headed,
      words: 'So',
      thought: 'hm',
      prompt: '<think>hm</think><final>So',
      inside: false,
    },
    { name: 'reasoning alone', source: headed, words: '', thought: 'hm', prompt: '<think>hm', inside: true },
    { name: 'a text that opens reasoning', source: headed, words: '<think>hm', thought: '', prompt: '<think>hm', inside: true },
    {
      name: 'the same, on a line of its own',
      source: headed,
      words: ' <think>\nhm\n',
      thought: '',
      prompt: '<think>hm\n',
      inside: true,
    },
    {
      name: 'a text that has closed it',
      source: headed,
      words: '<think>a</think>b',
      thought: '',
      prompt: '<final><think>a</think>b',
      inside: false,
    },
    {
      name: 'a text that opens it later',
      source: headed,
      words: 'Well, <think>hm',
      thought: '',
      prompt: '<final>Well, <think>hm',
      inside: true,
    },
    {
      name: 'text, dropped reasoning',
      source: dropping,
      words: 'So',
      thought: 'hm',
      prompt: '<think>hm</think><final>So',
      inside: false,
    },
    { name: 'dropped reasoning alone', source: dropping, words: '', thought: 'hm', prompt: '<think>hm', inside: true },
    {
      name: 'text, no reasoning at all',
      source: dropping.replaceAll('think>', 'thing>'),
      words: 'So',
      thought: 'hm',
      prompt: '<final>So',
      inside: false,
    },
  ])('is continued as the template writes it: $name', ({ source, words, thought, prompt, inside }) => {
    const messages = [text('user', 'q'), assistant(...(thought === '' ? [] : [reasoning(thought)]), textPart(words))]
    expect(renderWith(source, { messages, start: 'last-message' })).toMatchObject({
      text: `<user><final>q</end><assistant>${prompt}`,
      startsInReasoning: inside,
    })
  })

  test.each<{ name: string; messages: Message[] }>([
    { name: 'a message of the user', messages: [text('user', 'q')] },
    { name: 'no message', messages: [] },
    { name: 'a message without text', messages: [text('user', 'q'), reply('')] },
    {
      name: 'a message with calls',
      messages: [text('user', 'q'), assistant(textPart('a'), call('a', 'f', '{}'))],
    },
  ])('$name cannot be continued', ({ messages }) => {
    const refused = expect.objectContaining({ code: 'invalid-request', at: ['prompt', 'messages'] })
    expect(() => renderWith(chatml, { messages, start: 'last-message' })).toThrow(refused)
  })

  test('a text that the template does not show cannot be continued', () => {
    const deaf = '{% for m in messages %}{{ m.content if m.role == "user" }}{% endfor %}'
    const run = () => renderWith(deaf, { messages: [text('user', 'q'), reply('a')], start: 'last-message' })
    expect(run).toThrow(expect.objectContaining({ code: 'invalid-request', message: expect.stringContaining('does not show') }))
  })

  test.each<{ name: string; prompt: Partial<Chat>; options?: Reasoning; inside: boolean }>([
    { name: 'the template opened a block', prompt: {}, inside: true },
    { name: 'thinking is off', prompt: {}, options: { reasoning: { enabled: false } }, inside: false },
    { name: 'the prefix closes the block', prompt: { responsePrefix: 'hm</think>\n' }, inside: false },
    { name: 'the prefix goes on inside the block', prompt: { responsePrefix: 'Okay' }, inside: true },
    {
      name: 'the prefix opens a block',
      prompt: { responsePrefix: '<think>' },
      options: { reasoning: { enabled: false } },
      inside: true,
    },
    { name: 'the user speaks of the mark', prompt: { messages: [text('user', '<think>')], start: 'bare' }, inside: false },
  ])('says whether the answer begins inside reasoning: $name', ({ prompt, options, inside }) => {
    expect(renderWith(thinking, prompt, options).startsInReasoning).toBe(inside)
  })
})

describe('template variables', () => {
  const show = (names: string) =>
    `{% for m in messages %}{{ m.content }}{% endfor %}{% for v in [${names}] %}:{{ v }}{% endfor %}`

  test('reach the template, and win over what reasoning sets', () => {
    const source = show('enable_thinking, reasoning_effort, mine')
    const prompt = { templateVariables: { enable_thinking: true, mine: [1] } }
    expect(renderWith(source, prompt, { reasoning: { enabled: false, effort: 'low' } }).text).toBe('q:True:low:[1]')
  })

  test.each(['messages', 'tools', 'add_generation_prompt'])('%s is the request itself, and no variable', (name) => {
    const run = () => renderWith(chatml, { templateVariables: { [name]: [] } })
    expect(run).toThrow(expect.objectContaining({ code: 'invalid-request', message: expect.stringContaining(name) }))
  })

  test.each<{ name: string; reasoning: ReasoningOptions; names: string; shown: string }>([
    {
      name: 'nothing asked',
      reasoning: {},
      names: 'enable_thinking, thinking, preserve_thinking, reasoning_effort',
      shown: 'q::::',
    },
    { name: 'on', reasoning: { enabled: true }, names: 'enable_thinking, thinking, thinking_mode', shown: 'q:True:True:enabled' },
    {
      name: 'off',
      reasoning: { enabled: false },
      names: 'enable_thinking, thinking, thinking_mode',
      shown: 'q:False:False:disabled',
    },
    { name: 'no effort is off', reasoning: { effort: 'none' }, names: 'enable_thinking, reasoning_effort', shown: 'q:False:' },
    { name: 'effort', reasoning: { effort: 'high' }, names: 'reasoning_effort, thinking_effort', shown: 'q:high:high' },
    { name: 'off, where there is only an effort', reasoning: { enabled: false }, names: 'reasoning_effort', shown: 'q:low' },
    { name: 'on, where there is only an effort', reasoning: { enabled: true }, names: 'reasoning_effort', shown: 'q:' },
    { name: 'off, where there is only a budget', reasoning: { enabled: false }, names: 'thinking_budget', shown: 'q:0' },
    { name: 'a budget', reasoning: { budgetTokens: 512 }, names: 'thinking_budget', shown: 'q:512' },
    { name: 'kept', reasoning: { preserve: true }, names: 'preserve_thinking, clear_thinking', shown: 'q:True:False' },
    { name: 'dropped', reasoning: { preserve: false }, names: 'preserve_thinking, clear_thinking', shown: 'q:False:True' },
  ])('reasoning as templates know it: $name', ({ reasoning, names, shown }) => {
    expect(renderWith(show(names), {}, { reasoning }).text).toBe(shown)
  })

  test.each([
    { name: 'enable_thinking', source: thinking, found: 'enable_thinking' },
    { name: 'reasoning_effort', source: show('reasoning_effort'), found: 'reasoning_effort' },
    {
      name: 'none, where it is only mentioned',
      source: `${chatml}{% set enable_thinking = 1 %}{{ enable_thinking }}`,
      found: undefined,
    },
    { name: 'none', source: chatml, found: undefined },
  ])('the switch of thinking is found: $name', ({ source, found }) => {
    expect(compileChatTemplate(source, {}).traits.thinkingSwitch).toBe(found)
  })

  test('the clock of strftime_now is the one that is given', () => {
    const now = () => new Date(2031, 0, 2)
    const template = compileChatTemplate("{{ strftime_now('%Y-%m-%d') }}", {}, { now })
    expect(template.render({ type: 'chat', messages: [], ...plainChat }).text).toBe('2031-01-02')
  })
})
