import { describe, expect, test } from 'vitest'
import { assistant, call, reasoning, text as textPart } from '../../../test/support/parts.ts'
import { type Message, plainChat, type ReasoningOptions, type ToolChoice } from '../../contract/request.ts'
import { compileChatTemplate } from './chat-template.ts'

/** Drops what it does not know, and wants user and assistant to alternate. */
const noSystem = `{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate') }}{% endif %}<{{ m.role }}>{{ m.content }}{% endfor %}`

const text = (role: 'system' | 'developer' | 'user', words: string): Message => ({
  role,
  content: [{ type: 'text', text: words }],
})
const reply = (words: string): Message => assistant(textPart(words))
const render = (source: string, ...messages: Message[]) =>
  compileChatTemplate(source, {}).render({ type: 'chat', messages, ...plainChat }).text

type Chat = Parameters<ReturnType<typeof compileChatTemplate>['render']>[0]
type Reasoning = { readonly reasoning?: ReasoningOptions; readonly toolChoice?: ToolChoice }

const renderWith = (source: string, prompt: Partial<Chat>, options: Reasoning = {}) =>
  compileChatTemplate(source, {}).render({ type: 'chat', messages: [text('user', 'q')], ...plainChat, ...prompt }, options)

describe('the history of calls', () => {
  const history = (id: string): Message[] => [
    text('user', 'q'),
    assistant(call(id, 'f', '{"a":1}')),
    { role: 'tool', toolCallId: id, content: [{ type: 'text', text: 'sunny' }] },
  ]
  const body = `{% for m in messages %}[{{ m.role }}]{% for c in m.tool_calls or [] %}{{ c.id }}{{ c.function.arguments | tojson }}{% endfor %}{{ m.tool_call_id }} {{ m.name }} {{ m.content }}{% endfor %}`
  const demandsNine = `${body}{% for m in messages %}{% for c in m.tool_calls or [] %}{% if c.id | length != 9 %}{{ raise_exception('nine!') }}{% endif %}{% endfor %}{% endfor %}`

  test('ids become nine letters and digits where the template demands it, the same for call and result', () => {
    const prompt = render(demandsNine, ...history('call_0123456789abcdef'))
    const [, called, answered] = /\[assistant\](\w{9})\{.*\[tool\](\w{9}) /.exec(prompt) ?? []
    expect(called).toMatch(/^[a-zA-Z0-9]{9}$/)
    expect(answered).toBe(called)
    expect(render(demandsNine, ...history('abcDEF123'))).toContain('abcDEF123{')
  })

  test.each([
    ['{"id":1234567890123456789,"n":1.0,"m":1.50,"e":1e5}', '{"id": 1234567890123456789, "n": 1.0, "m": 1.50, "e": 1e5}'],
    ['{"2":"a","1":"b"}', '{"2": "a", "1": "b"}'],
    ['[1.0]', '{"input": "[1.0]"}'],
  ])('arguments keep their digits and the order of their keys: %s', (input, shown) => {
    const source = `{% for m in messages %}{% for c in m.tool_calls or [] %}{{ c.function.arguments | tojson }}{% for k, v in c.function.arguments.items() %}{% endfor %}{% endfor %}{{ m.content }}{% endfor %}`
    expect(render(source, text('user', 'q'), assistant(call('a', 'f', input)))).toBe(`q${shown}`)
  })

  test('ids stay as they are elsewhere, and a result carries the name of its function', () => {
    expect(render(body, ...history('call_1'))).toBe('[user]  q[assistant]call_1{"a": 1}  [tool]call_1 f sunny')
  })

  test.each(['reasoning_content', 'reasoning', 'thinking'])(
    'reasoning is handed over as %s where the template reads that',
    (field) => {
      const source = `{% for m in messages %}{{ m.${field} }}{{ m.content }}{% endfor %}`
      expect(render(source, text('user', 'q'), assistant(reasoning('hm,'), textPart('a')))).toBe('qhm,a')
    },
  )

  test('reasoning that the template refuses beside a text is left out', () => {
    const source = `{% for m in messages %}{% if m.thinking and m.content %}{{ raise_exception('not both') }}{% endif %}{{ m.thinking }}{{ m.content }}{% for c in m.tool_calls or [] %}{{ c.function.arguments | tojson }}{% endfor %}{% endfor %}`
    expect(render(source, text('user', 'q'), assistant(reasoning('hm'), textPart('a')))).toBe('qa')
  })

  test('a template that must go through a list of tools gets an empty one', () => {
    expect(render('{% for t in tools %}{{ t }}{% endfor %}{{ messages[0].content }}', text('user', 'q'))).toBe('q')
  })
})

describe('what a template cannot show as it is', () => {
  const result = (id: string, words: string): Message => ({
    role: 'tool',
    toolCallId: id,
    content: [{ type: 'text', text: words }],
  })
  const calling = (words: string, ...ids: string[]) =>
    assistant(...(words === '' ? [] : [textPart(words)]), ...ids.map((id) => call(id, 'f', `{"n":"${id}"}`)))
  const shown = `{% for m in messages %}[{{ m.role }}]{% for c in m.tool_calls or [] %}{{ c.function.arguments | tojson }}{% endfor %}{{ m.content }}{% endfor %}`

  test('calls stay in one turn where they can', () => {
    expect(render(shown, text('user', 'q'), calling('', 'a', 'b'), result('b', 'B'), result('a', 'A'))).toBe(
      '[user]q[assistant]{"n": "a"}{"n": "b"}[tool]A[tool]B',
    )
  })

  test('where a turn may hold one call, each gets a turn, with its result behind it', () => {
    const single = `${shown}{% for m in messages %}{% if m.tool_calls and m.tool_calls | length > 1 %}{{ raise_exception('one') }}{% endif %}{% endfor %}`
    expect(render(single, text('user', 'q'), calling('ok', 'a', 'b'), result('b', 'B'), result('a', 'A'), reply('x'))).toBe(
      '[user]q[assistant]{"n": "a"}ok[tool]A[assistant]{"n": "b"}[tool]B[assistant]x',
    )
  })

  test('where a turn shows text or calls, the text gets a turn of its own', () => {
    const either = `{% for m in messages %}[{{ m.role }}]{% if m.content %}{{ m.content }}{% else %}{% for c in m.tool_calls or [] %}{{ c.function.arguments | tojson }}{% endfor %}{% endif %}{% endfor %}`
    expect(render(either, text('user', 'q'), calling('ok', 'a'), result('a', 'A'))).toBe(
      '[user]q[assistant]ok[assistant]{"n": "a"}[tool]A',
    )
  })

  test('arguments that are no object are put into one where the template demands it', () => {
    const source = `{% for m in messages %}{% for c in m.tool_calls or [] %}{% for k, v in c.function.arguments.items() %}{{ k }}={{ v }};{% endfor %}{% endfor %}{{ m.content }}{% endfor %}`
    const broken = assistant(call('a', 'f', '{"n":'))
    expect(render(source, text('user', 'q'), broken, result('a', 'A'))).toBe('qinput={"n":;A')
    expect(render(shown, text('user', 'q'), broken, result('a', 'A'))).toContain('[assistant]"{\\"n\\":"[tool]A')
  })

  test('tools without descriptions get empty ones only where the template fails without', () => {
    const strict = `{% for t in tools or [] %}{{ t.function.name + ':' + t.function.description + '.' }}{% for k, v in t.function.parameters.properties | items %}{{ k + v.description }}{% endfor %}{% endfor %}`
    const tools = [{ name: 'f', parameters: { type: 'object', properties: { a: { type: 'string' } } } }]
    expect(renderWith(strict, { tools }).text).toBe('f:.a')
    expect(renderWith('{{ tools[0].function | tojson if tools }}', { tools }).text).not.toContain('description')
    const healed = (source: string) =>
      compileChatTemplate(source, {}).heal({ type: 'chat', messages: [], ...plainChat, tools }).tools
    const parameters = { type: 'object', properties: { a: { type: 'string', description: '' } } }
    expect(healed(strict)).toEqual([{ name: 'f', description: '', parameters }])
    expect(healed('{{ tools[0].function | tojson if tools }}')).toEqual(tools)
  })
})

describe('tools that may not be called', () => {
  const tools = [{ name: 'f', description: 'finds' }]
  const shows = '{% for t in tools or [] %}{{ t.function.name }};{% endfor %}{% for m in messages %}{{ m.content }}{% endfor %}'

  test.each([
    { name: 'shows', source: shows, shown: 'f;q' },
    { name: 'does not show', source: noSystem, shown: 'finds' },
  ])('are not in the prompt, with a template that $name tools', ({ source, shown }) => {
    const without = renderWith(source, {}).text
    expect(renderWith(source, { tools }, { toolChoice: { type: 'none' } }).text).toBe(without)
    expect(renderWith(source, { tools }, { toolChoice: { type: 'auto' } }).text).toContain(shown)
  })
})

describe('the variable `functions`', () => {
  const tools = [{ name: 'f' }]

  test('is a list with tools, and absent without', () => {
    const source = '{% for f in functions %}{{ f.function.name }};{% endfor %}{{ functions is defined }}{{ messages[0].content }}'
    expect(renderWith(source, {}).text).toBe('Falseq')
    expect(renderWith(source, { tools }).text).toBe('f;Trueq')
    expect(renderWith(source, { tools, templateVariables: { functions: [] } }).text).toBe('Trueq')
  })

  test('is JSON text where the template adds it to a text', () => {
    const source = "{{ 'Functions: ' + functions }}{{ messages[0].content }}"
    expect(renderWith(source, {}).text).toBe('Functions: []q')
    expect(renderWith(source, { tools }).text).toContain('Functions: [{"type":"function"')
  })
})
