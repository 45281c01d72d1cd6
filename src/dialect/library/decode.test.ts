import { describe, expect, test } from 'vitest'
import { CallerKeys } from '../../contract/caller-keys.ts'
import { AppError } from '../../contract/errors.ts'
import { type CanonicalPath, formatPath } from '../../contract/field.ts'
import { type Message, plainRequest, plainToolUse } from '../../contract/request.ts'
import type { Sampling } from '../../contract/sampling.ts'
import { decodeInput, type GenerateInput } from './decode.ts'

const user = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] })
const weather = { name: 'get_weather', description: 'tells', parameters: { type: 'object' }, strict: true } as const

const sampling: Required<Sampling> = {
  temperature: 0.5,
  topP: 0.5,
  topK: 40,
  minP: 0.1,
  seed: 7,
  repetitionPenalty: 1.1,
  repetitionRange: -1,
  presencePenalty: -2,
  frequencyPenalty: 2,
  temperatureLast: true,
  logitBias: new Map([[3, -100]]),
  xtc: { probability: 0.5, threshold: 0.1 },
  dry: { multiplier: 1, base: 1.75, allowedLength: 2, range: -1, sequenceBreakers: ['\n'] },
  typicalP: 1,
  topNSigma: 0,
  dynamicTemperature: { range: 0.5, exponent: 1 },
  mirostat: { version: 2, tau: 5, eta: 0.1 },
  adaptiveP: { target: -1, decay: 0.9 },
  topA: 0,
  tailFree: 1,
  smoothing: { factor: 0, curve: 1 },
  skew: 0,
  repetitionDecay: 0,
  samplerOrder: ['top-k', 'temperature'],
  allowedTokens: [1, 2],
  stopTokens: [2],
  bannedStrings: ['no'],
  loopWindow: 10,
  healsTokens: false,
  guidance: { scale: 1, negativePrompt: '' },
}

/** A request with each field that a program may set. */
const full: Required<GenerateInput> = {
  id: 'mine',
  model: 'm',
  prompt: {
    type: 'chat',
    messages: [
      { role: 'system', content: [{ type: 'text', text: 'Be short.' }], name: 'operator' },
      {
        role: 'user',
        content: [
          { type: 'media', kind: 'image', source: { type: 'base64', base64: 'AA==', mediaType: 'image/png' }, detail: 'low' },
        ],
      },
      {
        role: 'assistant',
        parts: [
          { type: 'reasoning', text: 'hm', opaque: 's' },
          { type: 'text', text: 'a', annotations: [{ type: 'url-citation', url: 'https://a.example', startIndex: 0 }] },
          { type: 'tool-call', id: 'c', name: 'get_weather', input: '{}' },
        ],
      },
      { role: 'tool', content: [{ type: 'text', text: 'sun' }], toolCallId: 'c', isError: true },
    ],
    tools: [weather, { type: 'custom', name: 'free', grammar: { syntax: 'regex', definition: 'a' } }],
    templateVariables: { a: 1 },
    start: 'new-turn',
    responsePrefix: 'So',
    template: { type: 'named', name: 't', source: 's' },
    toolFormat: 'hermes',
    keepsCallTexts: true,
    otherTools: [{ name: 'other' }],
  },
  sampling,
  choices: 1,
  toolChoice: { type: 'required', names: ['get_weather'] },
  toolUse: {
    ...plainToolUse,
    names: ['search'],
    mcpServers: [{ label: 'l', url: 'https://a.example', headers: { a: 'b' }, allowedTools: ['t'], approval: 'all' }],
    maxCalls: { search: 3 },
    timeoutMs: 1000,
    sessionId: 's',
    approvals: [{ callId: 'c', isApproved: true, reason: 'r' }],
    web: { searches: { allowed: ['a.example'] }, pages: { blocked: ['b.example'] }, userPlace: 'Oslo' },
    hidesCalls: true,
  },
  parallelToolCalls: false,
  reasoning: { enabled: true, effort: 'low', budgetTokens: 10, budgetMessage: 'enough', isWish: true, preserve: false },
  output: { type: 'json-schema', name: 'n', description: 'd', schema: { type: 'object' }, strict: true },
  showsSpecialTokens: true,
  logprobs: { top: 3, topHere: 5 },
  promptTokens: { logprobs: { top: 1 } },
  tellsInputFirst: true,
  pinsPrompt: true,
  comparesWith: 'r0',
  tellsProgress: true,
  maxOutputTokens: 20,
  isMaxOutputAssumed: true,
  minOutputTokens: 2,
  stop: ['END'],
  ignoreEos: false,
  adapter: { type: 'named', name: 'lora' },
  forwarded: {
    user: 'u',
    safetyIdentifier: 's',
    serviceTier: 't',
    promptCacheKey: 'k',
    promptCacheRetention: 'r',
    metadata: { a: 'b' },
  },
  serverFields: { best_of: 1 },
  callerKeys: new CallerKeys(new Map()),
}

const decode = (input: unknown) => decodeInput(input as GenerateInput, 'made')
function refusal(input: unknown): AppError {
  try {
    decode(input)
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
  throw new Error('it was accepted')
}

/** What a caller may put in these as they like. */
const free = /^(?:prompt\.templateVariables|serverFields|output\.schema|prompt\.tools\[0\]\.parameters)\./

/** The paths of all fields of a value. */
function pathsOf(value: unknown, at: CanonicalPath = []): CanonicalPath[] {
  if (typeof value !== 'object' || value === null || value instanceof Map || value instanceof CallerKeys) return [at]
  const inner = Object.entries(value).flatMap(([name, item]) =>
    pathsOf(item, [...at, Array.isArray(value) ? Number(name) : name]),
  )
  return at.length === 0 ? inner : [at, ...inner]
}

function changed(value: unknown, [step, ...rest]: CanonicalPath, to: unknown): unknown {
  if (step === undefined) return to
  const copy: Record<string | number, unknown> = Array.isArray(value) ? ([...value] as never) : { ...(value as object) }
  copy[step] = changed(copy[step], rest, to)
  return copy
}

describe('a request of a program', () => {
  test('each field reaches the engine as it was set', () => {
    expect(decode(full)).toEqual(full)
  })

  const paths = pathsOf(full).filter((path) => !free.test(formatPath(path)))
  test.each(paths.map((path) => [formatPath(path), path] as const))('%s of a wrong kind is refused by its name', (name, path) => {
    const { code, message, at } = refusal(changed(full, path, () => undefined))
    expect({ code, at: formatPath(at ?? []) }).toEqual({ code: 'invalid-request', at: name })
    expect(message).toContain(name)
  })

  test.each([
    [{ sampling: { temperature: 99 } }, 'sampling.temperature: expected a number from 0 to 10, got 99'],
    [{ sampling: { temperature: -3 } }, 'sampling.temperature: expected a number from 0 to 10, got -3'],
    [{ sampling: { topP: 7 } }, 'sampling.topP: expected a number from 0 to 1, got 7'],
    [{ sampling: { seed: 1.5 } }, 'sampling.seed: expected an integer of at least 0, got 1.5'],
    [
      { sampling: { temprature: 0 } },
      `sampling: expected no field 'temprature' (did you mean 'temperature'?), got {"temprature":0}`,
    ],
    [{ choices: 0 }, 'choices: expected an integer from 1 to 128, got 0'],
    [{ n: 0 }, "expected no field 'n'"],
    [{ temprature: 0 }, "expected no field 'temprature'"],
    [{ stop: 'Hel' }, 'stop: expected an array of non-empty strings, got "Hel"'],
    [{ stop: [1] }, 'stop[0]: expected a string, got 1'],
    [{ maxOutputTokens: -1 }, 'maxOutputTokens: expected an integer of at least 0, got -1'],
    [{ maxOutputTokens: '5' }, 'maxOutputTokens: expected an integer of at least 0, got "5"'],
    [{ maxOutputTokens: 0 }, 'maxOutputTokens: expected at least 1 without promptTokens, got 0'],
    [{ maxOutputTokens: 2, minOutputTokens: 3 }, 'minOutputTokens 3 is more than maxOutputTokens, which is 2'],
    [{ owner: 'me' }, "expected no field 'owner'"],
    [{ prompt: [] }, 'prompt.messages: expected at least one message, got []'],
    [{ prompt: [{ role: 'user', content: 'hi' }] }, 'prompt.messages[0].content: expected an array of parts, got "hi"'],
    [{ prompt: [{ role: 'wizard', content: [] }] }, 'prompt.messages[0].role: expected one of "system", "developer", "user"'],
    [{ prompt: undefined }, 'prompt is missing: expected an object'],
    [{ prompt: { type: 'song' } }, 'prompt.type: expected one of "chat", "text", "tokens", "infill", got "song"'],
    [{ prompt: { type: 'tokens', tokens: [] } }, 'prompt.tokens: expected at least one token, got []'],
    [{ toolChoice: { type: 'required' } }, "toolChoice: 'required' needs tools in the prompt, and there are none"],
    [{ toolChoice: { type: 'auto', names: ['x'] } }, 'toolChoice names "x", which is not declared'],
    [{ toolUse: plainToolUse }, 'toolUse: the server runs tools only for conversations, and for one choice'],
    [
      { prompt: { type: 'chat', messages: [user('a')], tools: [weather, weather] } },
      'prompt.tools[1].name "get_weather" is also prompt.tools[0].name: names must differ',
    ],
    [{ prompt: { type: 'chat', messages: [user('a')], start: 'last-message' } }, "the last one has the role 'user'"],
    [{ prompt: { type: 'chat', messages: [user('a')], start: 'bare', responsePrefix: 'b' } }, "prompt.start 'bare' begins none"],
  ])('%j is refused: %s', (fields, message) => {
    expect(refusal({ model: 'm', prompt: 'a', ...fields }).message).toContain(message)
  })

  test('all wrong fields are in one message, and the first is the place', () => {
    const { message, at } = refusal({ model: '', prompt: 'a', choices: 0, sampling: { topP: 7 } })
    expect(message).toMatch(/model: .*sampling\.topP: .*choices: /)
    expect(at).toEqual(['model'])
  })

  test.each([[undefined], ['a text'], [{}]])('%j is not a request', (input) => {
    expect(refusal(input).message).toMatch(/^model is missing: .*; prompt is missing/)
  })

  test('what is left out or undefined has its default', () => {
    const text = { type: 'text', text: 'a' }
    expect(decode({ model: 'm', prompt: 'a', stop: undefined, sampling: { seed: undefined, topP: 1 } })).toEqual({
      ...plainRequest,
      id: 'made',
      model: 'm',
      prompt: text,
      sampling: { topP: 1 },
    })
    const chat = { type: 'chat', messages: [user('a')], tools: [], templateVariables: {}, start: 'new-turn', responsePrefix: '' }
    expect(decode({ model: 'm', prompt: [user('a')] }).prompt).toEqual(chat)
    expect(decode({ model: 'm', prompt: { type: 'chat', messages: [user('a')] } }).prompt).toEqual(chat)
  })

  test('a seed beyond 32 bits counts by its low bits, as over HTTP', () => {
    expect(decode({ model: 'm', prompt: 'a', sampling: { seed: 2 ** 32 + 5 } }).sampling.seed).toBe(5)
  })
})
