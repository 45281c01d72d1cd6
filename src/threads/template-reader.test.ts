import { afterAll, describe, expect, test } from 'vitest'
import { hostileTemplates } from '../../test/support/hostile/hostile-templates.ts'
import { roundsOf } from '../../test/support/process/soak-length.ts'
import { withTurnsMeanwhile } from '../../test/support/process/turns-meanwhile.ts'
import { TemplateReader } from './template-reader.ts'

const reader = new TemplateReader()
afterAll(() => reader.close())

const switched = '{% for m in messages %}{{ m.content }}{% endfor %}{% if enable_thinking %}<think>{% endif %}'

describe('TemplateReader', () => {
  test.each([
    ['a switch', switched, 'enable_thinking'],
    ['a word that switches nothing', '{{ messages[0].content }}{# enable_thinking #}', undefined],
    ['no switch', '{{ messages[0].content }}', undefined],
    ['a template that does not parse', '{% if enable_thinking %}', undefined],
  ])('TemplateReader finds the switch of thinking in %s', async (_, template, expected) => {
    expect((await reader.readThinking(template)).thinkingSwitch).toBe(expected)
  })

  test.each([
    [switched, true],
    ['{{ messages[0].content }}{% if enable_thinking is not false %}<think>{% endif %}', false],
    ['{{ messages[0].content }}', false],
  ])('thinking is off without its switch in %j: %s', async (template, isOff) => {
    expect((await reader.readThinking(template)).isOffByDefault).toBe(isOff)
  })

  test('hostile templates block nothing here, and leave the thread for the next', async () => {
    const hostile = hostileTemplates.filter((_, index) => index % roundsOf(48, 12) === 0)
    const { result, turns } = await withTurnsMeanwhile(() =>
      Promise.all(hostile.map((source) => reader.readThinking(`${source}{{ enable_thinking }}`))),
    )
    expect(result.map(({ thinkingSwitch }) => thinkingSwitch)).toEqual(hostile.map(() => undefined))
    expect(turns).toBeGreaterThan(100)
    expect((await reader.readThinking(`${switched}.`)).thinkingSwitch).toBe('enable_thinking')
  })

  test('a template that takes too long has no switch', async () => {
    const hasty = new TemplateReader({ timeoutMs: 1 })
    try {
      const { thinkingSwitch } = await hasty.readThinking(`{% for i in range(99999) %}{{ enable_thinking }}{% endfor %}`)
      expect(thinkingSwitch).toBeUndefined()
    } finally {
      await hasty.close()
    }
  })
})
