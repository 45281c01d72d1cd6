import { describe, expect, test } from 'vitest'
import { readLlamaTemplates } from '../../../test/support/llama/llama-templates.ts'
import { text } from '../../../test/support/parts.ts'
import { plainChat, type ReasoningOptions } from '../../contract/request.ts'
import { compileChatTemplate } from './chat-template.ts'
import { reasoningVariables } from './reasoning-variables.ts'

test.each<[ReasoningOptions, boolean | undefined]>([
  [{ effort: 'minimal' }, true],
  [{ effort: 'high' }, true],
  [{ effort: 'none' }, false],
  [{ effort: 'high', enabled: false }, false],
  [{ effort: 'high', budgetTokens: 0 }, undefined],
  [{ budgetTokens: 100 }, undefined],
  [{}, undefined],
])('%j switches thinking: %s', (options, wanted) => {
  expect(reasoningVariables(options, 'enable_thinking').enable_thinking).toBe(wanted)
})

describe('in the templates of llama.cpp that do not think by default', () => {
  const prompt = { type: 'chat', ...plainChat, messages: [{ role: 'user', content: [text('Why?')] }] } as const
  const compiled = [...(readLlamaTemplates() ?? [])].map(([name, source]) => {
    const template = compileChatTemplate(source, {}, { now: () => new Date(0) })
    return { name, render: (reasoning: ReasoningOptions) => template.render(prompt, { reasoning }).text }
  })
  const silent = compiled.filter(
    ({ render }) => render({}) === render({ enabled: false }) && render({}) !== render({ enabled: true }),
  )

  test.skipIf(compiled.length === 0)('an effort switches thinking on, and none off', () => {
    const names = silent.map(({ name }) => name)
    for (const each of ['DeepSeek-V3.1', 'DeepSeek-V3.2', 'gemma-4-31B-it', 'granite-3.3']) {
      expect(
        names.some((name) => name.includes(each)),
        each,
      ).toBe(true)
    }
    for (const { name, render } of silent) {
      expect(render({ effort: 'medium' }), name).toBe(render({ enabled: true, effort: 'medium' }))
      expect(render({ effort: 'medium' }), name).not.toBe(render({}))
      expect(render({ effort: 'none' }), name).toBe(render({ enabled: false }))
    }
  })
})
