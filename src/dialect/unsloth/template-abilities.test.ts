import { describe, expect, test } from 'vitest'
import { readAbilities } from './template-abilities.ts'

describe('a chat template shows', () => {
  test.each<[string, string, Partial<ReturnType<typeof readAbilities>>]>([
    ['{{ messages }}', 'm', { supports_reasoning: false, reasoning_style: 'enable_thinking', supports_tools: false }],
    [
      '{% if enable_thinking %}',
      'm',
      { supports_reasoning: true, reasoning_style: 'enable_thinking', reasoning_always_on: false },
    ],
    ['{{ reasoning_effort }}', 'm', { reasoning_style: 'reasoning_effort', reasoning_always_on: false }],
    ['{% if thinking %}', 'DeepSeek-V3', { reasoning_style: 'enable_thinking', reasoning_always_on: false }],
    ['{% if thinking %}', 'other', { supports_reasoning: false }],
    ["{{ '<think>' }}{{ '</think>' }}", 'm', { reasoning_style: 'enable_thinking', reasoning_always_on: true }],
    ['{{ message.reasoning_content }}', 'm', { reasoning_always_on: true }],
    ['{% if preserve_thinking %}', 'm', { supports_preserve_thinking: true }],
    ['{%- if tools is defined %}', 'm', { supports_tools: true }],
    ["{% if message['role'] == 'tool' %}", 'm', { supports_tools: true }],
    ['{% elif message.role == "tool" %}', 'm', { supports_tools: true }],
  ])('%s of %s', (template, id, abilities) => {
    expect(readAbilities(template, id)).toMatchObject(abilities)
  })

  test('tools, when there is none: the server that runs the model shows them', () => {
    expect(readAbilities(undefined, 'm')).toMatchObject({ supports_reasoning: false, supports_tools: true })
  })
})
