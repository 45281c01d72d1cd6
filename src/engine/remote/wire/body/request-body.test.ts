import { describe, expect, test } from 'vitest'
import { assistant, audio, call, image, reasoning, text } from '../../../../../test/support/parts.ts'
import type { CanonicalPath } from '../../../../contract/field.ts'
import {
  type FunctionTool,
  type GenerationRequest,
  type Message,
  type Prompt,
  plainChat,
  plainRequest,
} from '../../../../contract/request.ts'
import type { Sampling } from '../../../../contract/sampling.ts'
import { compileOutput } from '../../../../grammar/compile-output.ts'
import { type ProfileName, profileNames } from '../../servers/profile.ts'
import { profiles } from '../../servers/profiles.ts'
import { chatBody } from './chat-body.ts'
import { grammarRequest } from './output-fields.ts'
import { continued, requestBody } from './request-body.ts'

type ChatPrompt = Extract<Prompt, { type: 'chat' }>

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

  test.each<[ProfileName, Record<string, unknown>]>([
    ['vllm', { top_k: 5, min_p: 0.1, repetition_penalty: 1.1, max_tokens: 9, ignore_eos: true }],
    ['sglang', { top_k: 5, min_p: 0.1, repetition_penalty: 1.1, max_tokens: 9, ignore_eos: true }],
    ['llama-server', { top_k: 5, min_p: 0.1, repeat_penalty: 1.1, max_tokens: 9, ignore_eos: true }],
    ['dragoman', { top_k: 5, min_p: 0.1, repetition_penalty: 1.1, max_completion_tokens: 9, ignore_eos: true }],
  ])('%s gets sampling fields under its names', (kind, fields) => {
    const sampling = { topK: 5, minP: 0.1, repetitionPenalty: 1.1 }
    expect(bodyOf(kind, { sampling, maxOutputTokens: 9, ignoreEos: true })).toMatchObject(fields)
  })

  test.each<[ProfileName, boolean, 'refused' | undefined]>([
    ['vllm', false, undefined],
    ['vllm', true, 'refused'],
    ['sglang', true, 'refused'],
    ['llama-server', true, undefined],
    ['llama-server', false, 'refused'],
    ['ollama', true, 'refused'],
    ['openai', false, 'refused'],
  ])('%s has its own place for the temperature: last %s is %s', (kind, temperatureLast, outcome) => {
    const send = (temperature: number) => bodyOf(kind, { sampling: { temperature, temperatureLast } })
    expect(send(1)).not.toHaveProperty('temperature_last')
    if (outcome === undefined) expect(send(0.5)).not.toHaveProperty('temperature_last')
    else expect(() => send(0.5)).toThrow(expect.objectContaining({ at: ['sampling', 'temperatureLast'] }))
  })

  test.each<[Sampling, object, string[]]>([
    [{ typicalP: 0.5 }, { typical_p: 0.5 }, ['typicalP']],
    [{ topNSigma: 1 }, { top_n_sigma: 1 }, ['topNSigma']],
    [
      { dynamicTemperature: { range: 0.5, exponent: 2 } },
      { dynatemp_range: 0.5, dynatemp_exponent: 2 },
      ['dynamicTemperature', 'range'],
    ],
    [{ mirostat: { version: 2, tau: 4 } }, { mirostat: 2, mirostat_tau: 4 }, ['mirostat', 'version']],
    [
      { adaptiveP: { target: 0.3 } },
      { adaptive_target: 0.3, samplers: expect.arrayContaining(['adaptive_p']) },
      ['adaptiveP', 'target'],
    ],
  ])("%j is for llama.cpp's samplers, and refused elsewhere", (sampling, fields, at) => {
    for (const kind of ['llama-server', 'dragoman'] as const) expect(bodyOf(kind, { sampling })).toMatchObject(fields)
    expect(() => bodyOf('vllm', { sampling })).toThrow(expect.objectContaining({ at: ['sampling', ...at] }))
  })

  test("an order of samplers has llama.cpp's names, and is refused elsewhere", () => {
    const sampling: Sampling = { samplerOrder: ['top-p', 'top-k', 'typical'], adaptiveP: { target: 0.3 } }
    const samplers = ['top_p', 'top_k', 'typ_p', 'adaptive_p']
    for (const kind of ['llama-server', 'dragoman'] as const) expect(bodyOf(kind, { sampling })).toMatchObject({ samplers })
    expect(() => bodyOf('vllm', { sampling })).toThrow(expect.objectContaining({ at: ['sampling', 'samplerOrder'] }))
  })

  test.each<[Sampling, object, string[]]>([
    [{ topA: 0.2 }, { top_a: 0.2 }, ['topA']],
    [{ tailFree: 0.9 }, { tfs: 0.9 }, ['tailFree']],
    [{ smoothing: { factor: 0.3, curve: 2 } }, { smoothing_factor: 0.3, smoothing_curve: 2 }, ['smoothing', 'factor']],
    [{ skew: -1 }, { skew: -1 }, ['skew']],
    [{ repetitionDecay: 9, repetitionRange: 32, repetitionPenalty: 1.1 }, { repetition_decay: 9 }, ['repetitionDecay']],
    [{ bannedStrings: ['a b'] }, { banned_strings: ['a b'] }, ['bannedStrings']],
    [{ healsTokens: true }, { token_healing: true }, ['healsTokens']],
    [{ guidance: { scale: 2, negativePrompt: 'a' } }, { guidance_scale: 2, negative_prompt: 'a' }, ['guidance', 'scale']],
  ])('%j is for another Dragoman, and refused by llama-server', (sampling, fields, at) => {
    expect(bodyOf('dragoman', { sampling })).toMatchObject(fields)
    expect(() => bodyOf('llama-server', { sampling })).toThrow(expect.objectContaining({ at: ['sampling', ...at] }))
  })

  test('Aphrodite and tabbyAPI get the samplers that they have, by their own names', () => {
    const shared = {
      topA: 0.2,
      tailFree: 0.9,
      smoothing: { factor: 0.3 },
      skew: -1,
      typicalP: 0.5,
      temperature: 0.7,
      temperatureLast: true,
    }
    const fields = { top_a: 0.2, tfs: 0.9, smoothing_factor: 0.3, skew: -1, temperature_last: true }
    const dry = { multiplier: 0.8, range: 64 }
    expect(bodyOf('aphrodite', { sampling: { ...shared, topNSigma: 1, dry, stopTokens: [3] } })).toMatchObject({
      ...fields,
      typical_p: 0.5,
      nsigma: 1,
      dry_multiplier: 0.8,
      dry_penalty_last_n: 64,
      stop_token_ids: [3],
    })
    const more = { repetitionDecay: 9, bannedStrings: ['a b'], healsTokens: true, repetitionRange: 32, allowedTokens: [1] }
    expect(bodyOf('tabbyapi', { sampling: { ...shared, ...more, guidance: { scale: 2, negativePrompt: 'a' } } })).toMatchObject({
      ...fields,
      typical: 0.5,
      repetition_decay: 9,
      banned_strings: ['a b'],
      token_healing: true,
      penalty_range: 32,
      allowed_tokens: [1],
      cfg_scale: 2,
      negative_prompt: 'a',
    })
  })

  test.each<[ProfileName, Sampling, string[]]>([
    ['aphrodite', { bannedStrings: ['a'] }, ['bannedStrings']],
    ['aphrodite', { samplerOrder: ['top-p', 'top-k'] }, ['samplerOrder']],
    ['tabbyapi', { smoothing: { factor: 0.3, curve: 2 } }, ['smoothing', 'factor']],
    ['tabbyapi', { topNSigma: 1 }, ['topNSigma']],
    ['tabbyapi', { seed: 1 }, ['seed']],
  ])('%s does not have %j, which is refused', (kind, sampling, at) => {
    expect(() => bodyOf(kind, { sampling })).toThrow(expect.objectContaining({ at: ['sampling', ...at] }))
  })

  test('constraints for Aphrodite and tabbyAPI have their names there', () => {
    expect(bodyOf('aphrodite', { output: { type: 'regex', pattern: 'a+' } })).toMatchObject({ guided_regex: 'a+' })
    expect(bodyOf('tabbyapi', { output: { type: 'regex', pattern: 'a+' } })).toMatchObject({ regex_pattern: 'a+' })
    const output = { type: 'json-schema', schema: { type: 'array' }, strict: true } as const
    expect(bodyOf('tabbyapi', { output })).toMatchObject({ json_schema: { type: 'array' } })
  })

  test('allowed tokens and stop tokens have a name of each kind', () => {
    const sampling = { allowedTokens: [1, 2], stopTokens: [3] }
    expect(bodyOf('vllm', { sampling })).toMatchObject({ allowed_token_ids: [1, 2], stop_token_ids: [3] })
    expect(bodyOf('dragoman', { sampling })).toMatchObject({ allowed_tokens: [1, 2], stop_token_ids: [3] })
    expect(() => bodyOf('sglang', { sampling })).toThrow(expect.objectContaining({ at: ['sampling', 'allowedTokens'] }))
    expect(bodyOf('sglang', { sampling: { stopTokens: [3] } })).toMatchObject({ stop_token_ids: [3] })
    const ended = () => bodyOf('llama-server', { sampling: { stopTokens: [3] } })
    expect(ended).toThrow(expect.objectContaining({ at: ['sampling', 'stopTokens'] }))
  })

  test('a guard against loops is for another Dragoman', () => {
    expect(bodyOf('dragoman', { sampling: { loopWindow: 800 } })).toMatchObject({ loop_detect_window: 800 })
  })

  test('samplers that are off are left out', () => {
    const sampling = {
      typicalP: 1,
      topNSigma: 0,
      dynamicTemperature: { range: 0 },
      mirostat: { version: 0 },
      adaptiveP: { target: -1 },
      topA: 0,
      tailFree: 1,
      smoothing: { factor: 0, curve: 2 },
      skew: 0,
      repetitionDecay: 0,
      guidance: { scale: 1, negativePrompt: 'a' },
      bannedStrings: [],
      healsTokens: false,
      loopWindow: 800,
    }
    for (const kind of ['vllm', 'ollama'] as const) expect(bodyOf(kind, { sampling })).toEqual(bodyOf(kind))
  })

  test('samplers that are off are sent to a server that may have them on by default', () => {
    const sampling: Sampling = {
      dry: { multiplier: 0, base: 1 },
      xtc: { probability: 0, threshold: 0.1 },
      typicalP: 1,
      topNSigma: -1,
      mirostat: { version: 0, tau: 5 },
      dynamicTemperature: { range: 0, exponent: 1 },
      adaptiveP: { target: -1 },
      topA: 0,
    }
    const off = { dry_multiplier: 0, xtc_probability: 0, typical_p: 1, top_n_sigma: 0, mirostat: 0, dynatemp_range: 0 }
    expect(bodyOf('llama-server', { sampling })).toEqual({ ...bodyOf('llama-server'), ...off, adaptive_target: -1 })
    expect(bodyOf('aphrodite', { sampling: { tailFree: 0, smoothing: { factor: 0, curve: 2 } } })).toEqual({
      ...bodyOf('aphrodite'),
      tfs: 1,
      smoothing_factor: 0,
    })
  })

  test('a repetition penalty over no tokens is off where servers have no range', () => {
    const sampling = { repetitionPenalty: 1.2, repetitionRange: 0 }
    expect(bodyOf('vllm', { sampling })).toMatchObject({ repetition_penalty: 1 })
    expect(bodyOf('openai', { sampling })).toEqual(bodyOf('openai'))
    expect(bodyOf('llama-server', { sampling })).toMatchObject({ repeat_penalty: 1.2, repeat_last_n: 0 })
  })

  test('another Dragoman is told the place of the temperature', () => {
    expect(bodyOf('dragoman', { sampling: { temperatureLast: true } })).toMatchObject({ temperature_last: true })
  })

  test('zero and one are values, and absent fields are not sent', () => {
    const body = bodyOf('vllm', { sampling: { temperature: 0, topP: 1, presencePenalty: 0, seed: 0 } })
    expect(body).toMatchObject({ temperature: 0, top_p: 1, presence_penalty: 0, seed: 0 })
    expect(body).not.toHaveProperty('frequency_penalty')
    expect(body).not.toHaveProperty('top_k')
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
  ])('of reasoning options that are a wish, %s gets what it knows of %j', (kind, options, fields) => {
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

  test('has its text so far as the last message, and the tokens that are left', () => {
    const rest = continued(request, { text: 'one, ', outputTokens: 3 }, upstream)
    expect(rest).toMatchObject({ maxOutputTokens: 7, prompt: { start: 'last-message' } })
    expect(rest?.prompt).toMatchObject({ messages: [{}, { role: 'assistant', parts: [text('one, ')] }] })
  })

  test('has what is left of the minimum, too', () => {
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
  ])('is not requested when %s', (_, { profile, outputTokens }) => {
    expect(continued(request, { text: 'a', outputTokens }, { profile, model: 'up' })).toBeUndefined()
  })
})
