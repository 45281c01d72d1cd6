import { describe, expect, test } from 'vitest'
import { AppError } from '../../contract/errors.ts'
import { type CanonicalPath, field } from '../../contract/field.ts'
import type { GenerationRequest } from '../../contract/request.ts'
import { decodeChat } from './decode.ts'

const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }
const text = (value: string) => ({ type: 'text', text: value })

/** A request that says all that a request can say, with what each of its places is made of. */
const rich = {
  model: 'm',
  messages: [
    { role: 'system', content: 'system text' },
    { role: 'user', content: [text('user text'), image] },
    {
      role: 'assistant',
      reasoning_content: 'thought',
      content: [text('first answer'), { type: 'refusal', refusal: 'no' }, text('second answer')],
      refusal: 'never',
      tool_calls: [
        { id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } },
        { id: 'c2', type: 'function', function: { name: 'g', arguments: '{"b":2}' } },
      ],
    },
    { role: 'tool', tool_call_id: 'c1', content: 'tool text' },
    { role: 'tool', tool_call_id: 'c2', content: [text('tool part')] },
    { role: 'assistant', reasoning_content: null, reasoning: 'thought two', content: 'plain answer' },
    { role: 'assistant', content: null, function_call: { name: 'old', arguments: '{"c":3}' } },
    { role: 'function', name: 'old', content: 'function text' },
    { role: 'assistant', content: 'called', tool_calls: [{ id: 'c4', function: { name: 'f', arguments: '{"d":4}' } }] },
    { role: 'tool', tool_call_id: 'c4', content: '' },
    { role: 'user', content: 'last' },
  ],
  tools: [
    { type: 'function', function: { name: 'f', parameters: { type: 'object' } } },
    { type: 'function', function: { name: 'g' } },
    { type: 'custom', custom: { name: 'c', format: { type: 'grammar', grammar: { syntax: 'regex', definition: 'a' } } } },
  ],
  tool_choice: 'auto',
  parallel_tool_calls: false,
  template_vars: { mood: 'good' },
  response_prefix: 'Sure',
  reasoning_effort: 'high',
  enable_thinking: true,
  thinking_budget: 5,
  preserve_thinking: true,
  temperature: 0.5,
  top_p: 0.5,
  top_k: 5,
  min_p: 0.5,
  seed: 5,
  rep_pen: 1.5,
  repeat_last_n: 5,
  presence_penalty: 0.5,
  frequency_penalty: 0.5,
  banned_tokens: [5],
  xtc_probability: 0.5,
  xtc_threshold: 0.5,
  dry_multiplier: 0.5,
  dry_base: 1.5,
  dry_allowed_length: 5,
  dry_penalty_last_n: 5,
  dry_sequence_breakers: ['x'],
  n: 2,
  max_tokens: 50,
  min_length: 5,
  stop_sequence: ['END'],
  ban_eos_token: true,
  logprobs: true,
  guided_regex: 'a+',
}

/** Where a wire name leads to in the body. */
function lookUp(body: unknown, name: string): unknown {
  const steps = name.split(/[.[\]]+/).filter((step) => step !== '')
  return steps.reduce<unknown>((value, step) => (value as Record<string, unknown> | undefined)?.[step], body)
}

/** The paths of a request that have a value, down to the fields that a protocol can have names for. */
function pathsOf({ id: _, prompt, sampling, reasoning, isMaxOutputAssumed: __, ...rest }: GenerationRequest): CanonicalPath[] {
  if (prompt.type !== 'chat') throw new Error('a chat decodes to something else')
  const nested = (root: string, value: object): CanonicalPath[] =>
    Object.entries(value).flatMap(([key, inner]) =>
      ['xtc', 'dry'].includes(key) ? nested(`${root}.${key}`, inner as object) : [[...root.split('.'), key]],
    )
  return [
    ...Object.keys(rest).map((key) => [key]),
    ...nested('sampling', sampling),
    ...nested('reasoning', reasoning),
    ['prompt', 'messages'],
    ['prompt', 'tools'],
    ['prompt', 'templateVariables'],
    ['prompt', 'responsePrefix'],
    ...prompt.tools.map((_, index) => ['prompt', 'tools', index]),
    ...prompt.messages.flatMap((message, index) => {
      const list = message.role === 'assistant' ? 'parts' : 'content'
      const parts = message.role === 'assistant' ? message.parts : message.content
      return [['prompt', 'messages', index], ...parts.map((_, position) => ['prompt', 'messages', index, list, position])]
    }),
  ]
}

function decode(fields: object = {}): ReturnType<typeof decodeChat> {
  return decodeChat({ ...rich, ...fields }, 'chatcmpl-1')
}

describe('what the sender of a chat calls a place of it', () => {
  test('is, for every place of a rich request, a field that was sent', () => {
    const { request, nameOf } = decode()
    const paths = pathsOf(request)
    expect(paths.length).toBeGreaterThan(60)
    const unsent = paths
      .map((path) => [path.join('.'), nameOf(path)])
      .filter(([, name]) => lookUp(rich, name ?? '') === undefined)
    expect(unsent).toEqual([])
  })

  test('leads, for every part of every message, to what the part was made of', () => {
    const { request, nameOf } = decode()
    if (request.prompt.type !== 'chat') throw new Error('a chat decodes to something else')
    let seen = 0
    for (const [index, message] of request.prompt.messages.entries()) {
      const [list, parts] = message.role === 'assistant' ? ['parts', message.parts] : ['content', message.content]
      for (const [position, part] of parts.entries()) {
        const sent = JSON.stringify(lookUp(rich, nameOf(['prompt', 'messages', index, list as string, position])))
        if (part.type === 'tool-call') expect(sent).toContain(JSON.stringify(part.input))
        else if (part.type === 'media') expect(sent).toContain('data:image/png')
        else if ('text' in part) expect(sent).toContain(JSON.stringify(part.text))
        seen += 1
      }
    }
    expect(seen).toBe(20)
  })

  test.each<[CanonicalPath, string]>([
    [['prompt', 'messages', 0, 'content', 0], 'messages[0].content'],
    [['prompt', 'messages', 1, 'content', 1], 'messages[1].content[1]'],
    [['prompt', 'messages', 1, 'content', 1, 'source'], 'messages[1].content[1].image_url.url'],
    [['prompt', 'messages', 1, 'content', 1, 'detail'], 'messages[1].content[1].image_url.detail'],
    [['prompt', 'messages', 2, 'parts', 0], 'messages[2].reasoning_content'],
    [['prompt', 'messages', 2, 'parts', 3], 'messages[2].content[2]'],
    [['prompt', 'messages', 2, 'parts', 4], 'messages[2].refusal'],
    [['prompt', 'messages', 2, 'parts', 6], 'messages[2].tool_calls[1]'],
    [['prompt', 'messages', 5, 'parts', 0], 'messages[5].reasoning'],
    [['prompt', 'messages', 5, 'parts', 1], 'messages[5].content'],
    [['prompt', 'messages', 6, 'parts', 0], 'messages[6].function_call'],
    [['prompt', 'messages', 7, 'content', 0], 'messages[7].content'],
    [['prompt', 'messages', 8, 'parts', 1], 'messages[8].tool_calls[0]'],
    [['prompt', 'messages', 8, 'name'], 'messages[8].name'],
    [['prompt', 'tools', 0, 'parameters', 'properties'], 'tools[0].function.parameters.properties'],
    [['prompt', 'tools', 2, 'name'], 'tools[2].custom.name'],
    [['prompt', 'tools', 2, 'grammar', 'definition'], 'tools[2].custom.format.grammar.definition'],
    [['prompt', 'templateVariables', 'mood'], 'template_vars.mood'],
    [['output'], 'guided_regex'],
    [['output', 'pattern'], 'guided_regex'],
    [['sampling', 'repetitionPenalty'], 'rep_pen'],
    [['sampling', 'logitBias'], 'banned_tokens'],
    [['reasoning', 'budgetTokens'], 'thinking_budget'],
    [['minOutputTokens'], 'min_length'],
    [['maxOutputTokens'], 'max_tokens'],
    [['promptTokens'], 'echo'],
  ])('%j is %s', (path, name) => {
    expect(decode().nameOf(path)).toBe(name)
  })

  test.each<[object, CanonicalPath, string]>([
    [{ logprobs: true, top_logprobs: 6 }, ['logprobs', 'top'], 'top_logprobs'],
    [{ logprobs: 6 }, ['logprobs', 'top'], 'logprobs'],
    [
      { tools: undefined, tool_choice: undefined, functions: [{ name: 'f' }] },
      ['prompt', 'tools', 0, 'name'],
      'functions[0].name',
    ],
    [{ tools: undefined, tool_choice: undefined, functions: [{ name: 'f' }] }, ['prompt', 'tools'], 'functions'],
    [
      { tools: undefined, tool_choice: undefined, functions: [{ name: 'f' }], function_call: 'auto' },
      ['toolChoice'],
      'function_call',
    ],
    [{ reasoning_effort: undefined, reasoning: { effort: 'low' } }, ['reasoning', 'effort'], 'reasoning'],
    [{ thinking_budget: undefined, thinking: { budget_tokens: 9 } }, ['reasoning', 'budgetTokens'], 'thinking'],
    [{ enable_thinking: undefined, thinking: true }, ['reasoning', 'enabled'], 'thinking'],
    [{ temperature: undefined, do_sample: false }, ['sampling', 'temperature'], 'do_sample'],
    [{ template_vars: undefined, chat_template_kwargs: { a: 1 } }, ['prompt', 'templateVariables'], 'chat_template_kwargs'],
    [{ max_tokens: undefined }, ['maxOutputTokens'], 'max_completion_tokens'],
    [
      { guided_regex: undefined, response_format: { type: 'json_schema', json_schema: { name: 'a', schema: {} } } },
      ['output', 'schema'],
      'response_format.json_schema.schema',
    ],
    [{ guided_regex: undefined }, ['output'], 'response_format'],
  ])('with %j, %j is %s', (fields, path, name) => {
    expect(decode(fields).nameOf(path)).toBe(name)
  })

  test('is in the errors of core and engines', () => {
    const message = `${field('sampling', 'repetitionPenalty')} is not known here; see ${field('prompt', 'messages', 1, 'content', 0)}`
    const error = new AppError('unsupported-field', message, { at: ['prompt', 'tools', 1] })
    expect(error.inWordsOf(decode().nameOf)).toMatchObject({
      message: 'rep_pen is not known here; see messages[1].content[0]',
      param: 'tools[1].function',
    })
  })

  test.each([
    ['constructor'],
    ['__proto__', 0],
    [],
    [-1],
    ['prompt', 'messages', 1e308, 'content', 0],
    ['prompt', 'messages', -1, 'content', 0],
    ['prompt', 'messages', 0, 'content', -1],
    ['prompt', 'messages', 2, 'parts', 1e308],
    ['prompt', 'tools', -1],
    ['prompt', 'tools', 0.5],
  ])('is some text even for a place that only a caller can have thought of', (...path) => {
    expect(decode().nameOf(path)).toEqual(expect.any(String))
  })
})
