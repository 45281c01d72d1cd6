import { describe, expect, test } from 'vitest'
import { assistant, audio, call, image, reasoning, text } from '../../../../../test/support/parts.ts'
import type { CanonicalPath } from '../../../../contract/field.ts'
import {
  type ChatPrompt,
  type FunctionTool,
  type GenerationRequest,
  type Message,
  plainChat,
  plainRequest,
} from '../../../../contract/request.ts'
import { compileOutput } from '../../../../grammar/compile-output.ts'
import { type ProfileName, profileNames } from '../../servers/profile.ts'
import { profiles } from '../../servers/profiles.ts'
import { chatBody } from './chat-body.ts'
import { grammarRequest } from './output-fields.ts'
import { continued, requestBody } from './request-body.ts'

/** For requests without a grammar. */
const noGrammars = { compile: () => expect.unreachable('no grammar is needed') }

const say = (words: string): Message => ({ role: 'user', content: [text(words)] })

function bodyOf(
  kind: ProfileName,
  options: Partial<GenerationRequest> = {},
  prompt: Partial<ChatPrompt> = {},
): Readonly<Record<string, unknown>> {
  const chat = { type: 'chat', ...plainChat, messages: [say('hi')], ...prompt } as const
  const request = { ...plainRequest, id: 'x', model: 'm', prompt: chat, ...options }
  const upstream = { profile: profiles[kind], model: 'up' }
  const wanted = grammarRequest(request, upstream.profile)
  return chatBody(request, chat, upstream, wanted && compileOutput(wanted)).body
}

const tool = (name: string): FunctionTool => ({ name, parameters: { type: 'object', properties: {} } })

describe('the request to a server', () => {
  test.each(profileNames)("to %s asks for a stream with usage, by the server's name for the model", (kind) => {
    expect(bodyOf(kind)).toMatchObject({
      model: 'up',
      stream: true,
      stream_options: { include_usage: true },
      messages: [{ role: 'user', content: 'hi' }],
    })
  })

  test('constraints for Aphrodite and tabbyAPI have their names there', () => {
    expect(bodyOf('aphrodite', { output: { type: 'regex', pattern: 'a+' } })).toMatchObject({ guided_regex: 'a+' })
    expect(bodyOf('tabbyapi', { output: { type: 'regex', pattern: 'a+' } })).toMatchObject({ regex_pattern: 'a+' })
    const output = { type: 'json-schema', schema: { type: 'array' }, strict: true } as const
    expect(bodyOf('tabbyapi', { output })).toMatchObject({ json_schema: { type: 'array' } })
  })

  test.each<[CanonicalPath, ProfileName, Partial<GenerationRequest>, Partial<ChatPrompt>]>([
    [['sampling', 'topK'], 'openai', { sampling: { topK: 5 } }, {}],
    [['sampling', 'minP'], 'openai', { sampling: { minP: 0.1 } }, {}],
    [['sampling', 'repetitionPenalty'], 'ollama', { sampling: { repetitionPenalty: 1.2 } }, {}],
    [['sampling', 'repetitionRange'], 'vllm', { sampling: { repetitionRange: 64, repetitionPenalty: 1.1 } }, {}],
    [['ignoreEos'], 'openai', { ignoreEos: true }, {}],
    [['minOutputTokens'], 'openai', { minOutputTokens: 3 }, {}],
    [['minOutputTokens'], 'llama-server', { minOutputTokens: 3 }, {}],
    [['sampling', 'logitBias'], 'ollama', { sampling: { logitBias: new Map([[5, 1]]) } }, {}],
    [['sampling', 'xtc', 'probability'], 'vllm', { sampling: { xtc: { probability: 0.5, threshold: 0.1 } } }, {}],
    [['sampling', 'dry', 'multiplier'], 'sglang', { sampling: { dry: { multiplier: 1 } } }, {}],
    [['logprobs'], 'ollama', { logprobs: { top: 1 } }, {}],
    [['toolChoice'], 'ollama', { toolChoice: { type: 'required' } }, { tools: [tool('f')] }],
    [['prompt', 'templateVariables'], 'openai', {}, { templateVariables: { a: 1 } }],
    [['prompt', 'start'], 'openai', {}, { start: 'last-message' }],
    [['prompt', 'responsePrefix'], 'openai', {}, { responsePrefix: 'Sure' }],
    [['reasoning', 'budgetTokens'], 'vllm', { reasoning: { budgetTokens: 100 } }, {}],
    [['output'], 'openai', { output: { type: 'gbnf', grammar: 'root ::= "a"' } }, {}],
    [['output'], 'openai', { output: { type: 'regex', pattern: 'a+' } }, {}],
  ])('%j is refused by its place where %s does not know it', (at, kind, options, prompt) => {
    expect(() => bodyOf(kind, options, prompt)).toThrow(expect.objectContaining({ code: 'unsupported-field', at }))
  })

  test('a budget of thinking, and its message, go to a server that has them', () => {
    const reasoning = { budgetTokens: 100, budgetMessage: 'Enough.' }
    const fields = { reasoning_budget_tokens: 100, reasoning_budget_message: 'Enough.' }
    expect(bodyOf('dragoman', { reasoning })).toMatchObject(fields)
    expect(bodyOf('dragoman', { reasoning: { ...reasoning, isWish: true } })).toMatchObject(fields)
    expect(bodyOf('dragoman', { reasoning: { enabled: true } })).not.toHaveProperty('reasoning_budget_tokens')
  })

  test.each<[ProfileName, Partial<GenerationRequest['reasoning']>, Record<string, unknown>]>([
    ['vllm', { enabled: true, budgetTokens: 100 }, { chat_template_kwargs: expect.objectContaining({ enable_thinking: true }) }],
    ['openai', { enabled: true, budgetTokens: 100 }, { reasoning_effort: undefined }],
    ['openai', { enabled: false }, { reasoning_effort: undefined }],
    ['openai', { effort: 'low' }, { reasoning_effort: 'low' }],
    [
      'vllm',
      { effort: 'low' },
      {
        reasoning_effort: 'low',
        chat_template_kwargs: expect.objectContaining({ enable_thinking: true, reasoning_effort: 'low' }),
      },
    ],
    ['llama-server', { effort: 'low' }, { chat_template_kwargs: expect.objectContaining({ enable_thinking: true }) }],
    ['openai', { preserve: true }, { reasoning_effort: undefined }],
    ['vllm', { preserve: true }, { chat_template_kwargs: { preserve_thinking: true, clear_thinking: false } }],
  ])('the request to a server of reasoning options that are a wish, %s gets what it knows of %j', (kind, options, fields) => {
    const { reasoning_effort, chat_template_kwargs } = bodyOf(kind, { reasoning: { ...options, isWish: true } })
    expect({ reasoning_effort, chat_template_kwargs }).toMatchObject(fields)
  })

  test.each<[ProfileName, Record<string, unknown>]>([
    ['vllm', { structured_outputs: { regex: 'a+' } }],
    ['sglang', { regex: 'a+' }],
    ['llama-server', { grammar: expect.stringContaining('root ::=') }],
  ])('%s gets a regular expression in its format', (kind, fields) => {
    expect(bodyOf(kind, { output: { type: 'regex', pattern: 'a+' } })).toMatchObject(fields)
  })

  test("llama-server gets our grammar for a schema, never the client's schema", () => {
    const schema = { $ref: '#/$defs/a', $defs: { a: { type: 'object', properties: { next: { $ref: '#/$defs/a' } } } } }
    const body = bodyOf('llama-server', { output: { type: 'json-schema', schema, strict: false } })
    expect(body).toMatchObject({ grammar: expect.stringContaining('root ::=') })
    expect(body).not.toHaveProperty('response_format')
  })

  test('calls, their results and reasoning of earlier turns are sent with their ids', () => {
    const messages: readonly Message[] = [
      say('weather?'),
      assistant(reasoning('hm'), call('call_1', 'f', '')),
      { role: 'tool', toolCallId: 'call_1', content: [{ type: 'text', text: 'sunny' }] },
    ]
    expect(bodyOf('vllm', {}, { messages, tools: [tool('f')] }).messages).toEqual([
      { role: 'user', content: 'weather?' },
      {
        role: 'assistant',
        content: null,
        reasoning: 'hm',
        reasoning_content: 'hm',
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'sunny' },
    ])
  })

  test('images and audio are sent as parts', () => {
    const content = [
      text('what is it?'),
      { ...image('AA=='), detail: 'low' as const },
      audio('AA=='),
      audio('BB==', 'audio/mpeg'),
    ]
    expect(bodyOf('llama-server', {}, { messages: [{ role: 'user', content }] }).messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'what is it?' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==', detail: 'low' } },
          { type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } },
          { type: 'input_audio', input_audio: { data: 'BB==', format: 'mp3' } },
        ],
      },
    ])
  })

  test.each<[string, ProfileName, GenerationRequest['toolChoice'], unknown, readonly string[]]>([
    ['auto', 'vllm', { type: 'auto' }, 'auto', ['f', 'g']],
    ['one of them by name', 'vllm', { type: 'required', names: ['g'] }, { type: 'function', function: { name: 'g' } }, ['g']],
    ['one of them by name', 'llama-server', { type: 'required', names: ['g'] }, 'required', ['g']],
    ['any of some', 'vllm', { type: 'auto', names: ['f'] }, 'auto', ['f']],
  ])('tool choice %s: %s gets just the tools that may be called', (_, kind, toolChoice, choice, names) => {
    const body = bodyOf(kind, { toolChoice }, { tools: [tool('f'), tool('g')] })
    expect(body.tool_choice).toEqual(choice)
    expect((body.tools as { function: FunctionTool }[]).map((one) => one.function.name)).toEqual(names)
  })

  test('no tools are sent when none may be called', () => {
    expect(bodyOf('vllm', { toolChoice: { type: 'none' } }, { tools: [tool('f')] })).not.toHaveProperty('tools')
  })

  test.each([
    ['llama-server', 1],
    ['vllm', 0],
  ] as const)('%s is asked for log-probabilities of none but the chosen tokens by %i', (kind, count) => {
    const prompt = { type: 'text', text: 'a' } as const
    const request = { ...plainRequest, id: 'x', model: 'm', prompt, logprobs: { top: 0 } }
    expect(requestBody(request, { profile: profiles[kind], model: 'up' }, noGrammars)).toMatchObject({
      body: { logprobs: count },
    })
  })

  test('an infill prompt is sent as prompt and suffix, or refused', () => {
    const prompt = { type: 'infill', prefix: 'a', suffix: 'b' } as const
    const request = { ...plainRequest, id: 'x', model: 'm', prompt }
    expect(requestBody(request, { profile: profiles.openai, model: 'up' }, noGrammars)).toMatchObject({
      path: '/completions',
      body: { prompt: 'a', suffix: 'b' },
    })
    expect(() => requestBody(request, { profile: profiles.vllm, model: 'up' }, noGrammars)).toThrow(
      expect.objectContaining({ at: ['prompt', 'suffix'] }),
    )
  })
})

describe('a continued reply', () => {
  const upstream = { profile: profiles.vllm, model: 'up' }
  const chat = { type: 'chat', ...plainChat, messages: [say('count')] } as const
  const request = { ...plainRequest, id: 'x', model: 'm', prompt: chat, maxOutputTokens: 10 }

  test('a continued reply has its text so far as the last message, and the tokens that are left', () => {
    const rest = continued(request, { text: 'one, ', outputTokens: 3 }, upstream)
    expect(rest).toMatchObject({ maxOutputTokens: 7, prompt: { start: 'last-message' } })
    expect(rest?.prompt).toMatchObject({ messages: [{}, { role: 'assistant', parts: [text('one, ')] }] })
  })

  test('a reply without text so far begins anew with the tokens that are left', () => {
    expect(continued(request, { text: '', outputTokens: 3 }, upstream)).toEqual({ ...request, maxOutputTokens: 7 })
  })

  test('a continued reply has what is left of the minimum, too', () => {
    expect(continued({ ...request, minOutputTokens: 5 }, { text: 'a', outputTokens: 3 }, upstream)?.minOutputTokens).toBe(2)
    expect(continued({ ...request, minOutputTokens: 5 }, { text: 'a', outputTokens: 6 }, upstream)?.minOutputTokens).toBe(0)
  })

  test('extends a message that was continued already', () => {
    const begun = assistant(text('zero, '))
    const prompt = { ...chat, start: 'last-message', messages: [say('count'), begun] } as const
    expect(continued({ ...request, prompt }, { text: 'one', outputTokens: 1 }, upstream)?.prompt).toMatchObject({
      messages: [{}, { parts: [text('zero, one')] }],
    })
  })

  test.each([
    ['no tokens are left', { profile: profiles.vllm, outputTokens: 10 }],
    ['the server cannot continue', { profile: profiles.openai, outputTokens: 1 }],
  ])('a continued reply is not requested when %s', (_, { profile, outputTokens }) => {
    expect(continued(request, { text: 'a', outputTokens }, { profile, model: 'up' })).toBeUndefined()
  })
})

test('the name and description of a schema are passed on', () => {
  const output = { type: 'json-schema', name: 'n', description: 'd', schema: {}, strict: false } as const
  expect(bodyOf('openai', { output })).toMatchObject({
    response_format: { json_schema: { name: 'n', description: 'd', schema: {} } },
  })
})
