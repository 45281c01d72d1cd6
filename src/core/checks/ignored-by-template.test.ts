import { expect, test } from 'vitest'
import { type GenerationRequest, type JsonObject, plainChat, plainRequest } from '../../contract/request.ts'
import { ignoredByTemplate, mayPrint } from './ignored-by-template.ts'

const plain =
  '{% for m in messages %}{{ m.role }}: {{ m.content }}{% endfor %}{% for t in tools %}{{ tool.name }}{{ function["name"] }}{% endfor %}'
const named = { role: 'user', content: [], name: 'ann' } as const
const ask = (fields: Partial<Pick<GenerationRequest, 'reasoning'>>, name = false, templateVariables: JsonObject = {}) => ({
  ...plainRequest,
  prompt: {
    type: 'chat',
    ...plainChat,
    messages: [{ role: 'user', content: [] }, ...(name ? [named] : [])],
    templateVariables,
  } as const,
  ...fields,
})

test.each<[string, string | undefined, ReturnType<typeof ask>, unknown]>([
  ['a name that is not shown', plain, ask({}, true), [['prompt', 'messages', 1, 'name']]],
  ['a name that is shown', `${plain}{{ m.name }}`, ask({}, true), []],
  ['a name that is shown by its key', `${plain}{{ message['name'] }}`, ask({}, true), []],
  ['no name', plain, ask({}), []],
  ['an effort that is not used', plain, ask({ reasoning: { effort: 'high' } }), [['reasoning', 'effort']]],
  ['an effort that is used', `${plain}{{ reasoning_effort }}`, ask({ reasoning: { effort: 'high' } }), []],
  [
    'an effort that switches thinking on',
    `${plain}{{ '<think>' if enable_thinking }}`,
    ask({ reasoning: { effort: 'high' } }),
    [],
  ],
  ['one with a switch of another name', `${plain}{% if thinking %}<think>{% endif %}`, ask({ reasoning: { effort: 'low' } }), []],
  [
    'a switch that is a part of a message',
    `${plain}{% if m.thinking is defined %}{{ m.thinking }}{% endif %}`,
    ask({ reasoning: { effort: 'low' } }),
    [['reasoning', 'effort']],
  ],
  ['an effort that switches thinking off', plain, ask({ reasoning: { effort: 'none' } }), []],
  ['a switch of thinking that is not used', plain, ask({ reasoning: { enabled: true } }), [['reasoning', 'enabled']]],
  ['a switch that turns nothing off', plain, ask({ reasoning: { enabled: false } }), [['reasoning', 'enabled']]],
  ['thinking that nobody mentioned', plain, ask({ reasoning: { enabled: false, isWish: true } }), []],
  ['a switch that is used', `${plain}{% if enable_thinking %}{% endif %}`, ask({ reasoning: { enabled: true } }), []],
  ['a switch by another name', `${plain}{% if not thinking %}{% endif %}`, ask({ reasoning: { enabled: false } }), []],
  [
    'a switch that has the name of a part of messages',
    `${plain}{{ m.thinking }}<thinking>`,
    ask({ reasoning: { enabled: true } }),
    [['reasoning', 'enabled']],
  ],
  [
    'a switch that only a comment names',
    `${plain}{# interleaved thinking, enable_thinking #}`,
    ask({ reasoning: { enabled: false } }),
    [['reasoning', 'enabled']],
  ],
  ['earlier thoughts that are not shown', plain, ask({ reasoning: { preserve: true } }), [['reasoning', 'preserve']]],
  ['earlier thoughts that are', `${plain}{{ clear_thinking }}`, ask({ reasoning: { preserve: true } }), []],
  [
    'variables that are not used',
    `${plain}{{ date }}`,
    ask({}, false, { verbosity: 'low', date: 'today' }),
    [['prompt', 'templateVariables', 'verbosity']],
  ],
  ['a template that is not known', undefined, ask({ reasoning: { effort: 'high' } }, true), []],
])('the ignored fields are reported: %s', (_, chatTemplate, request, expected) => {
  expect(ignoredByTemplate(request, { facts: chatTemplate === undefined ? {} : { chatTemplate } })).toEqual(expected)
})

test('the name of a result says whose it is, and is not shown', () => {
  const result = { role: 'tool', content: [], toolCallId: 'c1', name: 'weather' } as const
  const request = { ...ask({}), prompt: { ...ask({}).prompt, messages: [result] } }
  expect(ignoredByTemplate(request, { facts: { chatTemplate: plain } })).toEqual([])
})

test.each<[string, string, readonly string[], boolean]>([
  [
    'an effort in the system message',
    '{{ reasoning_effort }}{% for m in messages %}{% endfor %}{% if add_generation_prompt %}',
    ['reasoning', 'effort'],
    true,
  ],
  [
    'a switch of the generation prompt',
    '{% for m in messages %}{% endfor %}{% if add_generation_prompt %}{% if enable_thinking %}',
    ['reasoning', 'enabled'],
    false,
  ],
  ['a switch in a comment', '{# enable_thinking #}{% if add_generation_prompt %}', ['reasoning', 'enabled'], false],
  [
    'a switch of earlier turns',
    '{% if preserve_thinking %}{% endif %}{% if add_generation_prompt %}',
    ['reasoning', 'preserve'],
    true,
  ],
  ['a variable of the beginning', '{{ today }}{% if add_generation_prompt %}', ['prompt', 'templateVariables', 'today'], true],
  ['a variable that is not read', '{% if add_generation_prompt %}', ['prompt', 'templateVariables', 'today'], false],
  ['a tool choice that hides tools', '{% if add_generation_prompt %}', ['toolChoice'], true],
])('%s: a template prints it before the end of the prompt, or not', (_, chatTemplate, setting, isPrinted) => {
  const { prompt } = ask({})
  if (prompt.type !== 'chat') return expect.unreachable()
  expect(mayPrint(setting, prompt, { facts: { chatTemplate } })).toBe(isPrinted)
  expect(mayPrint(setting, prompt, { facts: {} })).toBe(true)
})
