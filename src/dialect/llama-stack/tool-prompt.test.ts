import { describe, expect, test } from 'vitest'
import { decodeNow } from '../../../test/support/decode-now.ts'
import { readLlamaTemplates } from '../../../test/support/llama/llama-templates.ts'
import { parse } from '../../../test/support/parse-output.ts'
import { text } from '../../../test/support/parts.ts'
import type { Message, Prompt } from '../../contract/request.ts'
import { requestFormat } from '../../model-text/model-format.ts'
import { compileChatTemplate } from '../../model-text/template/chat-template.ts'
import { stackDialects } from './dialects.ts'
import type { PromptFormat } from './schema.ts'
import { writeCalls } from './write-calls.ts'

const formats: readonly PromptFormat[] = ['json', 'function_tag', 'python_list']
const tools = [
  { tool_name: 'f', parameters: { n: { param_type: 'int' }, s: { param_type: 'str', required: false } } },
  { tool_name: 'g', description: 'Gets it.', parameters: { city: { param_type: 'str' } } },
]
const system = { role: 'system', content: 'Be brief.' }
const hi = { role: 'user', content: 'hi' }

function promptOf(fields: object): Extract<Prompt, { type: 'chat' }> {
  const { prompt } = decodeNow(stackDialects.chat, { model_id: 'm', messages: [system, hi], tools, ...fields }).requests[0]
  return prompt.type === 'chat' ? prompt : expect.unreachable('expected a chat')
}

function textOfMessage(message: Message | undefined): string {
  const parts = message?.role === 'assistant' ? message.parts : (message?.content ?? [])
  return parts.map((part) => (part.type === 'text' ? part.text : `<${part.type}>`)).join('')
}

describe('without a format, the chat template shows the tools', () => {
  test.each([{}, { tool_config: { system_message_behavior: 'append' } }])('%j', (fields) => {
    const { messages, toolFormat } = promptOf(fields)
    expect(messages[0]).toEqual({ role: 'system', content: [text('Be brief.')] })
    expect(toolFormat).toBeUndefined()
  })
})

describe.each<[PromptFormat, string, string, string]>([
  [
    'json',
    'llama3',
    '{"type": "function", "name": "NAME", "parameters": {"ARGUMENT": "VALUE"}}',
    '{"type": "function", "name": "g", "parameters": {"city":"Bern"}}',
  ],
  [
    'function_tag',
    'functionary-v3.1',
    '<function=NAME>{"ARGUMENT": "VALUE"}</function>',
    '<function=g>{"city":"Bern"}</function>',
  ],
  ['python_list', 'pythonic', '[NAME(ARGUMENT="VALUE"), NAME(ARGUMENT="VALUE")]', '[g(city="Bern")]'],
])('the format %s', (format, toolFormat, example, written) => {
  const tool_config = { tool_prompt_format: format }

  test('is described before the system text, which says what the tools are', () => {
    const prompt = promptOf({ tool_config })
    const shown = textOfMessage(prompt.messages[0])
    expect(shown).toMatch(/\n\nBe brief\.$/)
    expect(shown).toContain(example)
    expect(shown).toContain('{"name":"g","description":"Gets it.","parameters":{"type":"object"')
    expect(prompt.toolFormat).toBe(toolFormat)
    expect(prompt.tools).toHaveLength(2)
    expect(promptOf({ tool_prompt_format: format })).toEqual(prompt)
  })

  test('makes a system message where there is none', () => {
    const { messages } = promptOf({ tool_config, messages: [hi] })
    expect(messages.map(({ role }) => role)).toEqual(['system', 'user'])
  })

  test('is that of earlier calls, after the text beside them', () => {
    const turn = {
      role: 'assistant',
      content: 'I look.',
      tool_calls: [{ call_id: 'c', tool_name: 'g', arguments: { city: 'Bern' } }],
    }
    const { messages } = promptOf({ tool_config, messages: [hi, turn, { role: 'tool', call_id: 'c', content: '21' }] })
    expect(messages[2]).toEqual({ role: 'assistant', parts: [text('I look.'), text(written)] })
    expect(messages[3]).toMatchObject({ role: 'tool', toolCallId: 'c' })
  })

  test.each([
    ['required', 'Now you must call a function.'],
    ['g', 'Now you must call g.'],
  ])('the choice %s is an instruction too', (tool_choice, line) => {
    expect(textOfMessage(promptOf({ tool_config: { ...tool_config, tool_choice } }).messages[0])).toContain(line)
  })

  test('no tool is shown that may not be called', () => {
    expect(promptOf({ tool_config: { ...tool_config, tool_choice: 'none' } }).messages[0]).toEqual({
      role: 'system',
      content: [text('Be brief.')],
    })
  })

  test('fields keep their names', () => {
    const { nameOf } = decodeNow(stackDialects.chat, { model_id: 'm', messages: [system, hi], tools, tool_config })
    expect(nameOf(['prompt', 'messages', 0, 'content', 1])).toBe('messages[0].content')
    expect(nameOf(['prompt', 'messages', 0, 'content', 0])).toBe('tools')
    const inserted = decodeNow(stackDialects.chat, { model_id: 'm', messages: [hi], tools, tool_config })
    expect(inserted.nameOf(['prompt', 'messages', 1, 'content', 0])).toBe('messages[0].content')
  })
})

describe('a system message that replaces the default', () => {
  const tool_config = { system_message_behavior: 'replace' }

  test('says where the definitions stand', () => {
    const content = 'Functions:\n{{function_definitions}}\nEnd $&.'
    const { messages, toolFormat } = promptOf({ tool_config, messages: [{ role: 'system', content }, hi] })
    const shown = textOfMessage(messages[0])
    expect(shown).toMatch(/^Functions:\n\{"name":"f".*\}\n\{"name":"g".*\}\nEnd \$&\.$/)
    expect(toolFormat).toBe('pythonic')
  })

  test('may show the tools itself', () => {
    expect(promptOf({ tool_config }).messages[0]).toEqual({ role: 'system', content: [text('Be brief.')] })
  })
})

describe('what is written is read back', () => {
  const given = [
    { name: 'f', input: '{"n": 3, "s": "a \\"b\\" (c) \'d\'\\n]", "list": [1, 2.5]}' },
    { name: 'g', input: '{"city": "Köln"}' },
    { name: 'f', input: '{}' },
  ]

  test.each(formats)('in the format %s', (tool_prompt_format) => {
    const prompt = promptOf({ tool_prompt_format })
    const { calls } = parse(writeCalls(given, tool_prompt_format), { format: requestFormat({}, prompt, false) })
    expect(calls.map(({ name, arguments: json }) => [name, JSON.parse(json)])).toEqual(
      given.map(({ name, input }) => [name, JSON.parse(input)]),
    )
  })

  test('names that Python has no words for, and arguments that are no JSON, keep their text', () => {
    const odd = [
      { name: 'f', input: '{"a-b": true, "c": null, "d": {"e": false}}' },
      { name: 'g', input: '{oops' },
    ]
    expect(writeCalls(odd, 'python_list')).toBe('[f(**{"a-b": True, "c": None, "d": {"e": False}}), g({oops)]')
  })
})

test('the template shows neither tools nor calls, and reasoning stays its own', () => {
  const source = `{% if tools %}TOOLS {{ tools | tojson }}{% endif %}{% for m in messages %}[{{ m.role }}]{{ m.content }}{% if m.tool_calls %}CALLS{% endif %}{% endfor %}[assistant]`
  const template = compileChatTemplate(source, {})
  const prompt = promptOf({ tool_prompt_format: 'python_list' })
  const { toolFormat: _, ...plain } = prompt
  expect(template.render(plain).text).toContain('TOOLS')
  expect(template.render(prompt).text).not.toContain('TOOLS')
  const reasoning = { open: '<think>', close: '</think>' }
  expect(requestFormat({ toolFormat: 'hermes', reasoning }, prompt, true)).toEqual({
    toolFormat: 'pythonic',
    reasoning,
    startsInReasoning: true,
  })
})

const templates = readLlamaTemplates() ?? new Map<string, string>()

test.each([...templates])('%s shows the definitions, the call and its result', (_, source) => {
  const called = { role: 'assistant', content: '', tool_calls: [{ call_id: 'c', tool_name: 'g', arguments: { city: 'Bern' } }] }
  const messages = [system, hi, called, { role: 'tool', call_id: 'c', content: '21 degrees' }]
  const { text: shown } = compileChatTemplate(source, {}).render(promptOf({ tool_prompt_format: 'json', messages }))
  for (const part of ['Be brief.', '"description":"Gets it."', '"parameters": {"city":"Bern"}', '21 degrees'])
    expect(shown).toContain(part)
})
