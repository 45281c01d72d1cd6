import { describe, expect, test } from 'vitest'
import { parse } from '../../test/support/parse-output.ts'
import { findToolFormat } from './formats/tool-formats.ts'
import { recogniseFormat, requestFormat, visibleTexts } from './model-format.ts'
import { AnswerStops } from './parse/answer-stops.ts'
import { compileChatTemplate } from './template/chat-template.ts'
import { readTemplateMetadata } from './template/template-metadata.ts'

const turns = '{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}'
const marks = "{% set tool_start = '<|call|>' %}{% set tool_end = '<|done|>' %}"

describe('the metadata of a template', () => {
  test('is what it sets at its top level, as a module of Jinja exports it', () => {
    const source = `{% set a = 'IM' %}{% if tools %}{% set tool_start = '<' ~ a ~ '>' %}{% endif %}{% set stop_strings = ['<' ~ a ~ '>', 7, ''] %}${turns}`
    expect(readTemplateMetadata(source)).toEqual({ stops: ['<IM>'], toolStart: '<IM>' })
  })

  test.each([
    [
      'is not what a loop or a macro sets',
      `{% for m in messages %}{% set tool_start = 'x' %}{% endfor %}{% macro f() %}{% set stop_strings = ['x'] %}{% endmacro %}`,
    ],
    [
      'is nothing for values of another type',
      "{% set stop_strings = 'x' %}{% set tool_start = 7 %}{% set tool_call_format = 'yaml' %}",
    ],
    ['is nothing for a template that does not parse', '{% set stop_strings = %}'],
    ['is nothing where a name is only read', '{{ tool_start }}{{ stop_strings }}'],
  ])('%s', (_, source) => {
    expect(readTemplateMetadata(source)).toEqual({ stops: [] })
  })

  test('is what a template sets before it refuses the conversation, or takes too long', () => {
    const first = "{% set stop_strings = ['END'] %}"
    expect(readTemplateMetadata(`${first}{{ raise_exception('no') }}`).stops).toEqual(['END'])
    expect(
      readTemplateMetadata(`${first}{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}`).stops,
    ).toEqual(['END'])
  })
})

describe('what an operator says of a format', () => {
  const template = `${turns}<think>\n</think>\n\n`
  const written = { open: '<think>\n', close: '\n</think>\n\n' }

  test.each([
    [undefined, {}, {}],
    [undefined, { reasoningTags: { open: '[t]', close: '[/t]' } }, { reasoning: { open: '[t]', close: '[/t]' } }],
    [template, { reasoningTags: { open: '[t]', close: '[/t]' } }, { reasoning: { open: '[t]', close: '[/t]' } }],
    [template, { callsInReasoning: false }, { reasoning: written, callsInReasoning: false }],
    // The white space that the template writes around the same tags stays.
    [template, { reasoningTags: { open: '<think>', close: '</think>' } }, { reasoning: written }],
  ])('wins over the template %j: %j', (source, settings, expected) => {
    const { toolFormat: _, ...format } = recogniseFormat(source, settings)
    expect(format).toEqual(expected)
  })
})

describe('stop_strings', () => {
  const format = recogniseFormat(`{% set stop_strings = ['<|im_end|>', 'STOP'] %}${turns}<think></think>`)

  test('end the turn wherever they are, and stay out of the text', () => {
    const given = { ...format, startsInReasoning: false }
    const stops = new AnswerStops([], given)
    expect(stops.push('abc ST').text).toBe('abc ')
    expect(stops.push('OP def')).toEqual({ text: '', stopSequence: 'STOP' })
    expect(new AnswerStops([], given).push('<think>a<|im_end|>b')).toEqual({ text: '<think>a', stopSequence: '<|im_end|>' })
  })

  test('are shown by the engine also where they are special tokens', () => {
    expect([...visibleTexts(format)]).toEqual(expect.arrayContaining(['<|im_end|>', 'STOP']))
  })

  test('do not count in plain text', () => {
    expect(requestFormat(format, { type: 'text', text: 'a' }, false)).toBeUndefined()
  })
})

describe('tool_start, tool_end and tool_call_format', () => {
  const formatOf = (metadata: string) => ({ ...recogniseFormat(metadata + turns), startsInReasoning: false })
  const call = (name: string, json: string) => expect.objectContaining({ name, arguments: json })

  test.each([
    [
      'a list of calls',
      'sure <|call|>[{"id":"1","type":"function","function":{"name":"f","arguments":{"n":1}}}]<|done|>',
      'sure ',
      [call('f', '{"n":1}')],
    ],
    [
      'flat calls and no arguments',
      '<|call|>[{"name":"f"}, {"name":"g","arguments":"{}"}]<|done|>',
      '',
      [call('f', '{}'), call('g', '{}')],
    ],
    ['one object', '<|call|>\n{"name":"f","arguments":{"n":1}}\n<|done|>', '', [call('f', '{"n":1}')]],
    ['text behind it', '<|call|>[{"name":"f","arguments":{}}]<|done|> bye', ' bye', [call('f', '{}')]],
    ['no call at all', 'sure <|call|><|done|> bye', 'sure bye', []],
    ['what is not a call', '<|call|>well<|done|>', 'well', []],
    ['a tool that was not declared', '<|call|>[{"name":"x","arguments":{}}]<|done|>', '[{"name":"x","arguments":{}}]', []],
  ])('delimit calls in JSON, and vanish: %s', (_, raw, text, calls) => {
    expect(parse(raw, { format: formatOf(marks) })).toMatchObject({ text, calls })
  })

  test('stay with calls that may not be made', () => {
    const raw = 'sure <|call|>[{"name":"f","arguments":{}}]<|done|>'
    expect(parse(raw, { format: formatOf(marks), toolChoice: { type: 'none' } })).toMatchObject({ text: raw, calls: [] })
  })

  test('are not part of an answer without tools', () => {
    expect(parse('a <|call|>b<|done|>', { format: formatOf(marks), tools: [] }).text).toBe('a b')
  })

  test('what a limit leaves of a call is not text', () => {
    expect(parse('<|call|>[{"na', { format: formatOf(marks) }, 'length')).toMatchObject({ text: '', calls: [] })
  })

  const xml = '<tool_call>\n<function=f>\n<parameter=s>a</parameter>\n</function>\n</tool_call>'
  test.each([
    ['xml', `${marks}{% set tool_call_format = 'xml' %}`, `hm <|call|>\n${xml}\n<|done|>`],
    ['xml under its own tag', "{% set tool_start = '<tool_call>' %}{% set tool_call_format = 'xml' %}", `hm ${xml}`],
    ['xml without a tag', "{% set tool_call_format = 'xml' %}", `hm ${xml}`],
    ['auto', `${marks}{% set tool_call_format = 'auto' %}`, `hm <|call|>\n${xml}\n<|done|>`],
  ])('%s is read after the tag as well', (_, metadata, raw) => {
    expect(parse(raw, { format: formatOf(metadata) })).toMatchObject({ text: 'hm ', calls: [call('f', '{"s": "a"}')] })
  })

  test('a format of the configuration wins, and a template without metadata is recognised', () => {
    expect(recogniseFormat(marks + turns, { toolFormat: 'hermes' }).toolFormat).toBe('hermes')
    expect(recogniseFormat(`${turns}<tool_call>`).toolFormat).toBe('hermes')
  })

  test('a tag that the recognised format has leaves it that format', () => {
    expect(recogniseFormat(`{% set tool_start = '<|tool_call_start|>' %}${turns}`).toolFormat).toBe('lfm2')
  })

  test('required calls are written between them, in the form that is read back', () => {
    const described = findToolFormat(formatOf(marks).toolFormat ?? '')?.describeCalls([{ name: 'f' }], { parallel: true })
    expect(described).toMatchObject({ prefix: '<|call|>[', suffix: ']<|done|>', separator: ', ' })
    const written = `${described?.prefix}{"function": {"name": "f", "arguments": {}}}${described?.suffix}`
    expect(described?.calls[0]?.pieces[0]).toMatchObject({ text: '{"function": {"name": "f", "arguments": ' })
    expect(parse(written, { format: formatOf(marks) })).toMatchObject({ text: '', calls: [call('f', '{}')] })
  })

  test('a template that does not show tools describes calls between them', () => {
    const source = marks + turns
    const { toolFormat } = recogniseFormat(source)
    const prompt = compileChatTemplate(source, {}, { toolFormat }).render({
      type: 'chat',
      messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
      tools: [{ name: 'f' }],
      templateVariables: {},
      start: 'new-turn',
      responsePrefix: '',
    })
    expect(prompt.text).toContain('<|call|>[{"function": {"name": "NAME", "arguments": {"ARGUMENT": "VALUE"}}}]<|done|>')
  })
})
