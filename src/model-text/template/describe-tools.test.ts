import { describe, expect, test } from 'vitest'
import { assistant, call, text as textPart } from '../../../test/support/parts.ts'
import { type Message, plainChat, type Tool } from '../../contract/request.ts'
import { compileChatTemplate } from './chat-template.ts'

const chatMl = `{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}`
const noSystem = `{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system') }}{% endif %}[{{ m.role }}]{{ m.content }}{% endfor %}`
const gemma = `{% for m in messages %}{% if m.role == 'system' or (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('alternate') }}{% endif %}[{{ m.role }}]{{ m.content }}{% endfor %}`
const withTools = `{% for t in tools or [] %}<{{ t.function.name }}>{% endfor %}${chatMl}`

const tools: Tool[] = [
  { name: 'weather', description: 'The weather.', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
  { name: 'now', strict: true },
]
const text = (role: 'system' | 'user', words: string): Message => ({ role, content: [{ type: 'text', text: words }] })
const calls = (...ids: string[]): Message =>
  assistant(textPart('Well:'), ...ids.map((id) => call(id, 'weather', `{"city":"${id}"}`)))
const result = (id: string): Message => ({ role: 'tool', toolCallId: id, content: [{ type: 'text', text: `rain in ${id}` }] })

function render(source: string, messages: readonly Message[], options: { toolFormat?: string; tools?: readonly Tool[] } = {}) {
  const template = compileChatTemplate(source, {}, options)
  return template.render({ type: 'chat', ...plainChat, tools: options.tools ?? tools, messages }).text
}

describe('tools for a template that does not show them', () => {
  test('are in the system message, as JSON, with an example of a call', () => {
    const prompt = render(chatMl, [text('user', 'q')])
    expect(prompt).toMatch(/^\[system\]There are functions/)
    expect(prompt).toContain(`\n${JSON.stringify(tools[0])}\n{"name":"now"}\n`)
    expect(prompt).toContain('\n[{"name": "NAME", "arguments": {"ARGUMENT": "VALUE"}}]\n')
    expect(prompt).toMatch(/\[user\]q\[assistant\]$/)
  })

  test.each([
    ['hermes', '\n<tool_call>\n{"name": "NAME", "arguments": {"ARGUMENT": "VALUE"}}\n</tool_call>\n'],
    ['qwen3-coder', '\n<tool_call>\n<function=NAME>\n<parameter=ARGUMENT>\nVALUE\n</parameter>\n</function>\n</tool_call>\n'],
    ['pythonic', '\n[NAME(**{"ARGUMENT": "VALUE"})]\n'],
    ['react', '\nAction: NAME\nAction Input: {"ARGUMENT": "VALUE"}\n'],
  ])('the example has the format that is parsed and required: %s', (toolFormat, example) => {
    expect(render(chatMl, [text('user', 'q')], { toolFormat })).toContain(example)
  })

  test("follow the caller's own system message", () => {
    expect(render(chatMl, [text('system', 'Be brief.'), text('user', 'q')])).toMatch(
      /^\[system\]Be brief\.(\[system\]|\n\n)There are functions[^[]*\[\{[^[]*\[user\]q/,
    )
  })

  test.each([noSystem, gemma])('are in front of the first user message where there is no system message', (source) => {
    expect(render(source, [text('system', 'Be brief.'), text('user', 'q')])).toMatch(
      /^\[user\]Be brief\.\n\nThere are functions[\s\S]*just answer\.\n\nq$/,
    )
  })

  test('are not there when none are declared', () => {
    expect(render(chatMl, [text('user', 'q')], { tools: [] })).toBe('[user]q[assistant]')
  })

  test('leave a template alone that shows them itself', () => {
    expect(render(withTools, [text('user', 'q')])).toBe('<weather><now>[user]q[assistant]')
  })

  test('earlier calls are written as in the example, and their results by name', () => {
    const prompt = render(gemma, [text('user', 'q'), calls('Oslo', 'Rome'), result('Rome'), result('Oslo')], { tools: [] })
    expect(prompt).toBe(
      '[user]q[assistant]Well:\n\n[{"name": "weather", "arguments": {"city":"Oslo"}}, {"name": "weather", "arguments": {"city":"Rome"}}]' +
        '[user]{"tool_result":{"name":"weather","content":"rain in Oslo"}}\n\n{"tool_result":{"name":"weather","content":"rain in Rome"}}',
    )
  })

  test('where arguments are written one by one, earlier calls are JSON, and their results have ids', () => {
    const prompt = render(gemma, [text('user', 'q'), calls('Oslo'), result('Oslo')], { tools: [], toolFormat: 'qwen3-coder' })
    expect(prompt).toContain('{"tool_calls":[{"id":"Oslo","name":"weather"')
    expect(prompt).toContain('{"tool_result":{"tool_call_id":"Oslo","name":"weather","content":"rain in Oslo"}}')
  })
})

describe('calls for a template that shows tools and results, but no calls', () => {
  const source = `{% for t in tools or [] %}<{{ t.function.name }}>{% endfor %}${chatMl}`
  const called = (...inputs: string[]) => {
    const messages = [text('user', 'q'), assistant(...inputs.map((input, at) => call(`${at}`, 'weather', input))), result('0')]
    return render(source, messages, { toolFormat: 'lfm2' }).replace(/^<weather><now>/, '')
  }
  const before = '[user]q[assistant]<|tool_call_start|>['
  const after = ']<|tool_call_end|>[tool]rain in 0[assistant]'

  test('are written as the model writes them, and results are turns of the tool', () => {
    const inputs = ['{"city":"Köln \'s","days":3,"exact":true,"at":{"x":[1.50,null]}}', '{}']
    const written = "weather(city=\"Köln 's\", days=3, exact=True, at={'x': [1.50, None]}), weather()"
    expect(called(...inputs)).toBe(`${before}${written}${after}`)
  })

  test.each(['{"the city":"x"}', '[1]', '{"city'])('have arguments that cannot be keywords as they are: %s', (input) => {
    expect(called(input)).toBe(`${before}weather(**${input})${after}`)
  })

  test('a question behind a result stays a turn of its own', () => {
    const history = [text('user', 'q'), assistant(call('0', 'now', '{}')), result('0'), text('user', 'r')]
    expect(render(source, history, { toolFormat: 'granite' })).toMatch(/\[tool\]rain in 0\[user\]r\[assistant\]$/)
  })
})
