import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { plainChat, type ReasoningOptions } from '../../contract/request.ts'
import { conversations, sail } from './__fixtures__/trait-conversations.ts'
import { thinkingTemplates, traitTemplates } from './__fixtures__/trait-templates.ts'
import { type ChatTemplate, compileChatTemplate } from './chat-template.ts'

/** The prompts that conversations have to become: one line each. */
const prompts = new Set(readFileSync(new URL('__fixtures__/trait-prompts.txt', import.meta.url), 'utf8').split('\n'))

function line(key: string, prompt: string): string {
  // How tools are described is tested in describe-tools.test.ts.
  return `${key}: ${JSON.stringify(prompt.replace(/There are functions.*just answer\./s, '(tools)'))}`
}

function unknown(lines: readonly string[]): readonly string[] {
  return lines.filter((each) => !prompts.has(each))
}

describe.each(traitTemplates)('the trait $trait', ({ trait, templates, conversations: names, withTool = false }) => {
  const compiled = templates.map(({ source }) => compileChatTemplate(source, {}))

  test('is found by rendering', () => {
    expect(compiled.map(({ traits }) => traits[trait])).toEqual(templates.map(({ value }) => value))
  })

  test('has at least ten prompts, each as it has to be', () => {
    const lines = compiled.flatMap((template, index) =>
      names.map((name) => {
        const prompt = { type: 'chat', ...plainChat, messages: conversations[name], tools: withTool ? [sail] : [] } as const
        return line(`${trait} ${index + 1}, ${name}`, template.render(prompt).text)
      }),
    )
    expect(lines.length).toBeGreaterThanOrEqual(10)
    expect(unknown(lines)).toEqual([])
  })
})

describe('the trait thinkingSwitch', () => {
  const wishes: readonly ReasoningOptions[] = [
    {},
    { enabled: true },
    { enabled: false },
    { effort: 'none' },
    { effort: 'low' },
    { enabled: true, budgetTokens: 99 },
  ]
  const ask = (template: ChatTemplate, reasoning: ReasoningOptions) =>
    template.render({ type: 'chat', ...plainChat, messages: conversations['a question'] }, { reasoning }).text

  test.each(thinkingTemplates)('is $name where the template reads it, and the wish reaches it', ({ name, source }) => {
    const template = compileChatTemplate(source, {})
    expect(template.traits.thinkingSwitch).toBe(name)
    expect(unknown(wishes.map((wish) => line(`${name}, ${JSON.stringify(wish)}`, ask(template, wish))))).toEqual([])
  })
})

test.each([
  ['{% if enable_thinking %}<think>{% endif %}', true],
  ['{% if enable_thinking is not false %}<think>{% endif %}', false],
  ['<think>', false],
])('the trait isOffByDefault of a prompt that ends in %s is %s', (end, isOff) => {
  const { traits } = compileChatTemplate(`{% for m in messages %}{{ m.content }}{% endfor %}${end}`, {})
  expect(traits.isOffByDefault).toBe(isOff)
})

test('every trait has such cases', () => {
  const covered = new Set<string>([...traitTemplates.map(({ trait }) => trait), 'thinkingSwitch', 'isOffByDefault'])
  const { traits } = compileChatTemplate('{% for m in messages %}{{ m.content }}{% endfor %}', {})
  expect(Object.keys(traits).filter((trait) => !covered.has(trait))).toEqual([])
})
